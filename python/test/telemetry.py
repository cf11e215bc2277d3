"""OpenTelemetry's SDK with everything kept in memory, for tests."""

from __future__ import annotations

import collections
import typing

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

Attributes = dict[str, typing.Any]


class Point(typing.NamedTuple):
    """One data point: a counter has a value, a histogram a sum, a count and edges."""

    attributes: Attributes
    value: float
    count: int
    edges: tuple[float, ...]


class Telemetry:
    """The providers, and what was exported."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.tracer = self.tracer_provider.get_tracer("test")
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self._reader], shutdown_on_exit=False)

    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    def metrics(self, scope: str = "onewrite") -> dict[str, list[Point]]:
        """The data points of each metric of *scope*."""
        found: dict[str, list[Point]] = collections.defaultdict(list)
        data: typing.Any = self._reader.get_metrics_data()
        for resource in data.resource_metrics if data is not None else ():
            for one in resource.scope_metrics:
                for metric in one.metrics if one.scope.name == scope else ():
                    for point in metric.data.data_points:
                        histogram = hasattr(point, "bucket_counts")
                        found[metric.name].append(
                            Point(
                                dict(point.attributes),
                                point.sum if histogram else point.value,
                                point.count if histogram else 0,
                                tuple(point.explicit_bounds) if histogram else (),
                            )
                        )
        return found

    def close(self) -> None:
        self.tracer_provider.shutdown()
        self.meter_provider.shutdown()
