"""The metrics: names, units and bucket edges (spec/events.yaml), and what a finished record adds to them."""

from __future__ import annotations

import typing
import weakref

from opentelemetry import metrics
from opentelemetry.context import Context

from .._timing.record import Timing

Attributes = dict[str, typing.Any]

#: One edge right below 40 ms: a wait that Nagle's algorithm and a delayed acknowledgement cause takes 40 to 45 ms.
_WAIT = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

#: Methods that the semantic conventions know; any other would make a time series of its own.
_METHODS = frozenset(
    ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"),
)


class Instruments:
    """The instruments of one meter provider."""

    def __init__(self, version: str, provider: metrics.MeterProvider | None) -> None:
        meter = metrics.get_meter("onewrite", version, provider)
        self._wait = meter.create_histogram(
            "onewrite.wait.duration",
            "s",
            "From the last byte of the request written to the first byte of the response read",
            explicit_bucket_boundaries_advisory=_WAIT,
        )
        self._requests = meter.create_counter("onewrite.requests", "{request}", "Requests that got a connection")

    def record(self, timing: Timing, attributes: Attributes, context: Context) -> None:
        """Add a finished call; *attributes* are its ``otel_attributes``."""
        server: Attributes = {
            name: attributes[name] for name in ("server.address", "server.port") if name in attributes
        }
        method = timing.method if timing.method in _METHODS else "_OTHER"
        asked = {**server, "http.request.method": method}
        for attempt in timing.attempts:
            wait = attempt.wait_ns
            if wait is not None:
                cause = attempt.cause
                self._wait.record(wait / 1e9, {**asked, "onewrite.cause": cause} if cause else asked, context)
            if attempt.reused is not None:
                self._requests.add(1, {**server, "onewrite.reused": attempt.reused}, context)


#: A provider makes each instrument once.
_made: weakref.WeakKeyDictionary[typing.Any, Instruments] = weakref.WeakKeyDictionary()


def of(version: str, provider: metrics.MeterProvider | None) -> Instruments:
    """Return the instruments of *provider*; those of the global one, now or later, for None."""
    key = metrics.get_meter_provider if provider is None else provider
    found = _made.get(key)
    if found is None:
        found = _made[key] = Instruments(version, provider)
    return found
