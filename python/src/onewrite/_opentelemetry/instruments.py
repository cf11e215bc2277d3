"""The metrics: names, units and bucket edges, and what a finished record adds to them."""

from __future__ import annotations

import typing
import weakref

from opentelemetry import metrics
from opentelemetry.context import Context

from .. import mappers
from .._timing.connection import Connection
from .._timing.events import Event
from .._timing.record import Timing
from .connections import Connections, Server

Attributes = dict[str, typing.Any]

#: Edges of the semantic conventions for HTTP.
_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_CONNECTION = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
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
        self._request = meter.create_histogram(
            "http.client.request.duration",
            "s",
            "Duration of HTTP client requests.",
            explicit_bucket_boundaries_advisory=_REQUEST,
        )
        self._wait = meter.create_histogram(
            "onewrite.wait.duration",
            "s",
            "From the last write of a request to the first byte of its response.",
            explicit_bucket_boundaries_advisory=_WAIT,
        )
        self._requests = meter.create_counter(
            "onewrite.requests", "{request}", "Requests that got a connection, reused or new."
        )
        self._connection = meter.create_histogram(
            "http.client.connection.duration",
            "s",
            "The duration of the successfully established outbound HTTP connections.",
            explicit_bucket_boundaries_advisory=_CONNECTION,
        )
        self._connections = Connections(self._ended)
        meter.create_observable_up_down_counter(
            "http.client.open_connections",
            [self._open],
            "{connection}",
            "Number of outbound HTTP connections that are currently active or idle on the client.",
        )

    def acquired(self, connection: Connection, event: Event) -> None:
        """A request got *connection*."""
        if not self._connections.knows(connection):
            peer = connection.peer
            if peer is None:
                attributes = mappers.otel_attributes(event.timing)
                peer = attributes.get("server.address", ""), attributes.get("server.port")
            self._connections.add(connection, peer, connection.requests == 1 and not event.fields["reused"])

    def record(self, timing: Timing, attributes: Attributes, context: Context, request_duration: bool) -> None:
        """Add a finished call; *attributes* are its ``otel_attributes``."""
        server: Attributes = {
            name: attributes[name] for name in ("server.address", "server.port") if name in attributes
        }
        method = timing.method if timing.method in _METHODS else "_OTHER"
        asked = {**server, "http.request.method": method}
        if request_duration:
            duration = mappers.otel_metrics(timing).get("http.client.request.duration")
            if duration is not None:
                ended = {name: attributes[name] for name in _END if name in attributes}
                self._request.record(duration, {**asked, **ended}, context)
        for attempt in timing.attempts:
            wait = attempt.wait_ns
            if wait is not None:
                cause = attempt.cause
                self._wait.record(wait / 1e9, {**asked, "onewrite.cause": cause} if cause else asked, context)
            if attempt.reused is not None:
                self._requests.add(1, {**server, "onewrite.reused": attempt.reused}, context)

    def _ended(self, server: Server, seconds: float) -> None:
        self._connection.record(seconds, _named(server))

    def _open(self, options: metrics.CallbackOptions) -> typing.Iterator[metrics.Observation]:
        for (server, state), number in self._connections.counts().items():
            yield metrics.Observation(number, {**_named(server), "http.connection.state": state})


_END = ("http.response.status_code", "error.type")


def _named(server: Server) -> Attributes:
    address, port = server
    found: Attributes = {"server.address": address}
    if port is not None:
        found["server.port"] = port
    return found


#: A provider makes each instrument once, with the function that it was first given.
_made: weakref.WeakKeyDictionary[typing.Any, Instruments] = weakref.WeakKeyDictionary()


def of(version: str, provider: metrics.MeterProvider | None) -> Instruments:
    """The instruments of *provider*; those of the global one, now or later, for None."""
    key = metrics.get_meter_provider if provider is None else provider
    found = _made.get(key)
    if found is None:
        found = _made[key] = Instruments(version, provider)
    return found
