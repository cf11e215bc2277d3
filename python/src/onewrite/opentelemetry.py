"""Hooks for OpenTelemetry: ``onewrite.install(on_timing=onewrite.opentelemetry.hook())``.

The phases of a request become attributes of the span that is current when the request ends, if that still records: the
one of an instrumentation of urllib3, requests or httpx. No span is made. Two metrics have the scope ``onewrite``.
"""

from __future__ import annotations

import typing
import urllib.parse

from . import __version__
from ._errors import UnsupportedBaseError
from ._record import PHASES, Record

try:
    from opentelemetry import metrics, trace
    from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, get_value
except ImportError as error:
    raise UnsupportedBaseError(
        'onewrite.opentelemetry needs OpenTelemetry: pip install "onewrite[opentelemetry]"'
    ) from error

__all__ = ["hook"]

Attributes = dict[str, typing.Any]

#: One edge right below 40 ms: a wait that Nagle's algorithm and a delayed acknowledgement cause takes 40 to 45 ms.
_EDGES = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
#: Methods that the semantic conventions know. Any other would make a time series of its own.
_METHODS = frozenset(("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"))
_ON_SPAN = (*(f"{phase}_ns" for phase in PHASES), "total_ns", "cause", "reused", "conn_id", "conn_requests", "proxy")
_OF_KERNEL = ("segments_out", "send_hold_ns", "unread_ns")
#: Spans of work of which the request is a part, perhaps one of many.
_NOT_OURS = (trace.SpanKind.SERVER, trace.SpanKind.CONSUMER)


def _span_attributes(record: Record) -> Attributes:
    found = {name: getattr(record, name) for name in _ON_SPAN}
    found |= {name: getattr(record.kernel, name, None) for name in _OF_KERNEL}
    return {f"onewrite.{name}": value for name, value in found.items() if value is not None}


def _server(record: Record) -> Attributes:
    try:
        parts = urllib.parse.urlsplit(record.url or "")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # a host that is none
        return {}
    found = {"server.address": parts.hostname, "server.port": port}
    return {name: value for name, value in found.items() if value is not None}


def hook(meter_provider: metrics.MeterProvider | None = None) -> typing.Callable[[Record], None]:
    """Return an ``on_timing`` that reports to OpenTelemetry.

    The metrics are those of *meter_provider*, by default of the global one, whether it is set now or later:
    ``onewrite.wait.duration`` (histogram, seconds) and ``onewrite.requests`` (counter). Requests of exporters, which
    suppress instrumentation, are not reported.
    """
    meter = metrics.get_meter("onewrite", __version__, meter_provider)
    waits = meter.create_histogram(
        "onewrite.wait.duration",
        "s",
        "From the last byte of the request written to the first byte of the response read",
        explicit_bucket_boundaries_advisory=_EDGES,
    )
    requests = meter.create_counter("onewrite.requests", "{request}", "Requests that got a connection")

    def on_timing(record: Record) -> None:
        if get_value(_SUPPRESS_INSTRUMENTATION_KEY):
            return
        span = trace.get_current_span()
        if span.is_recording() and getattr(span, "kind", None) not in _NOT_OURS:
            span.set_attributes(_span_attributes(record))
        server = _server(record)
        if record.wait_ns is not None:
            method = record.method if record.method in _METHODS else "_OTHER"
            attributes = {**server, "http.request.method": method}
            if record.cause is not None:
                attributes["onewrite.cause"] = record.cause
            waits.record(record.wait_ns / 1e9, attributes)
        if record.reused is not None:
            requests.add(1, {**server, "onewrite.reused": record.reused})

    return on_timing
