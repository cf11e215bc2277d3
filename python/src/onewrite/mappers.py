"""Timing records in the words of others: OpenTelemetry, W3C Resource Timing, HAR. No dependency on any."""

from __future__ import annotations

import datetime
import functools
import re
import typing

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from ._timing.record import Attempt, Timing

__all__ = ["har_timings", "otel_attributes", "otel_metrics", "otel_phases", "resource_timing"]

Fields = dict[str, typing.Any]


def _last(timing: Timing) -> Attempt | None:
    return timing.attempts[-1] if timing.attempts else None


_origin = re.compile(r"https?://[^/?#\\]*").match


@functools.lru_cache(256)
def _server(url: str) -> tuple[str | None, int | None]:
    """Host and port of *url*, which most calls share."""
    try:
        found = parse_url(url)
    except LocationParseError:
        found = Url()  # the call was refused for it
    if not found.host:
        return None, None
    return found.host.strip("[]"), found.port or {"http": 80, "https": 443}.get(found.scheme or "")


def otel_attributes(timing: Timing) -> Fields:
    """Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names).

    ``error.type`` is the error kind, or the status as text from 400 on; ``http.request.resend_count`` is
    there from the first retry or redirect on.
    """
    found: Fields = {"http.request.method": timing.method, "url.full": timing.url}
    origin = _origin(timing.url)
    address, port = _server(origin[0] if origin else timing.url)
    if address is not None:
        found["server.address"], found["server.port"] = address, port
    if timing.status is not None:
        found["http.response.status_code"] = timing.status
    if len(timing.attempts) > 1:
        found["http.request.resend_count"] = len(timing.attempts) - 1
    if timing.error_kind is not None:
        found["error.type"] = timing.error_kind
    elif timing.outcome == "cancelled":
        found["error.type"] = "cancelled"
    elif timing.status is not None and timing.status >= 400:
        found["error.type"] = str(timing.status)
    return found


def otel_metrics(timing: Timing) -> Fields:
    """Metrics by name, in seconds.

    ``http.client.request.duration`` is that of the last attempt, from its start to the first
    byte of the response, or to its end where none came. ``http.client.request.time_in_queue`` is .NET's name
    and there only when the request waited for a connection.
    """
    last = _last(timing)
    found: Fields = {}
    if last is None:
        return found
    end = last.at.get("response_start") or last.at.get("attempt_end")
    if end:
        found["http.client.request.duration"] = max(end - last.at["attempt_start"], 1) / 1e9
    if last.queue_ns is not None:
        found["http.client.request.time_in_queue"] = last.queue_ns / 1e9
    return found


def otel_phases(timing: Timing) -> Fields:
    """Attributes beside those of ``otel_attributes`` that say where the time of the last attempt went.

    ``onewrite.*``: each phase, ``total_ns`` (the call's), ``server_ns`` and ``network_ns`` in nanoseconds; ``cause``,
    ``segments_out``, ``send_hold_ns``, ``reused``, ``conn_id``, ``conn_requests``; ``attempts``, their number.
    What is absent in the record, or not yet known, is absent here.
    """
    last = _last(timing)
    found: Fields = {"onewrite.total_ns": timing.total_ns, "onewrite.attempts": len(timing.attempts) or None}
    if last is not None:
        for name in _PHASES:
            found[f"onewrite.{name}"] = getattr(last, name)
        kernel = last.kernel
        if kernel is not None:
            found["onewrite.segments_out"] = kernel.segments_out
            found["onewrite.send_hold_ns"] = kernel.send_hold_ns
    return {name: value for name, value in found.items() if value is not None}


_PHASES = (
    "queue_ns", "dns_ns", "connect_ns", "tls_ns", "send_ns", "wait_ns", "receive_ns",
    "server_ns", "network_ns", "cause", "reused", "conn_id", "conn_requests",
)  # fmt: skip


def resource_timing(timing: Timing) -> Fields:
    """A PerformanceResourceTiming entry of the last attempt (W3C Resource Timing), in ms from the start of the call.

    Steps that did not happen collapse to ``fetchStart``, as the standard has it; ``secureConnectionStart``
    is 0 without TLS. What was never reached is 0. ``serverTiming`` is there where the server sent any.
    """
    last = _last(timing)
    origin = timing.started_at_mono_ns

    def at(name: str, otherwise: float = 0.0) -> float:
        t_ns = None if last is None else last.at.get(name)
        return otherwise if t_ns is None else (t_ns - origin) / 1e6

    found: Fields = {"name": timing.url, "entryType": "resource", "startTime": 0.0}
    if last is None:
        return found
    fetch = at("attempt_start")
    connect = at("connect_start", fetch)
    found.update(
        fetchStart=fetch,
        domainLookupStart=at("dns_start", fetch),
        domainLookupEnd=at("dns_end", fetch),
        connectStart=connect,
        secureConnectionStart=at("tls_start"),
        connectEnd=at("tls_end", at("connect_end", fetch)),
        requestStart=at("request_start"),
        responseStart=at("response_start"),
        responseEnd=at("response_end"),
        duration=(timing.total_ns or 0) / 1e6,
        responseStatus=last.status or 0,
        encodedBodySize=last.bytes_received or 0,
        nextHopProtocol="http/1.1",
    )
    if last.server_timing:
        found["serverTiming"] = [
            {"name": one.name, "duration": (one.duration_ns or 0) / 1e6, "description": one.description or ""}
            for one in last.server_timing
        ]
    return found


def har_timings(timing: Timing) -> Fields:
    """``timings`` and the times of an HAR 1.2 entry of the last attempt, in ms; -1 is what did not happen.

    HAR counts TLS in ``connect`` as well as in ``ssl``.
    """
    last = _last(timing)
    started = datetime.datetime.fromtimestamp(timing.started_at_unix_ns / 1e9, datetime.timezone.utc)

    def ms(value: int | None) -> float:
        return -1 if value is None else value / 1e6

    phases: Fields = dict.fromkeys(("blocked", "dns", "connect", "ssl", "send", "wait", "receive"), -1)
    if last is not None:
        connect = None if last.connect_ns is None else last.connect_ns + (last.tls_ns or 0)
        phases.update(
            blocked=ms(last.queue_ns),
            dns=ms(last.dns_ns),
            connect=ms(connect),
            ssl=ms(last.tls_ns),
            send=ms(last.send_ns),
            wait=ms(last.wait_ns),
            receive=ms(last.receive_ns),
        )
    return {
        "startedDateTime": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "time": (timing.total_ns or 0) / 1e6,
        "timings": phases,
    }
