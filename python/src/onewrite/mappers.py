"""Timing records in the names of OpenTelemetry. No dependency on it."""

from __future__ import annotations

import functools
import re
import typing

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from ._timing.record import Timing

__all__ = ["otel_attributes", "otel_phases"]

Fields = dict[str, typing.Any]

_origin = re.compile(r"https?://[^/?#\\]*").match


@functools.lru_cache(256)
def _server(url: str) -> tuple[str | None, int | None]:
    """Return host and port of *url*, which most calls share."""
    try:
        found = parse_url(url)
    except LocationParseError:
        found = Url()  # the call was refused for it
    if not found.host:
        return None, None
    return found.host.strip("[]"), found.port or {"http": 80, "https": 443}.get(found.scheme or "")


def otel_attributes(timing: Timing) -> Fields:
    """Return the attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names).

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
    if timing.index:
        found["http.request.resend_count"] = timing.index
    if timing.error_kind is not None:
        found["error.type"] = timing.error_kind
    elif timing.outcome == "cancelled":
        found["error.type"] = "cancelled"
    elif timing.status is not None and timing.status >= 400:
        found["error.type"] = str(timing.status)
    return found


_PHASES = (
    "queue_ns", "dns_ns", "connect_ns", "tls_ns", "send_ns", "wait_ns", "receive_ns",
    "cause", "reused", "conn_id", "conn_requests", "proxy",
)  # fmt: skip


def otel_phases(timing: Timing) -> Fields:
    """Return the attributes beside those of ``otel_attributes``: where the time of the last attempt went.

    ``onewrite.*``: each phase and ``total_ns`` (the call's) in nanoseconds; ``cause``, ``segments_out``,
    ``send_hold_ns``, ``reused``, ``conn_id``, ``conn_requests``, ``proxy``; ``attempts``, their number. What is absent
    in the record, or not yet known, is absent here.
    """
    found: Fields = {"onewrite.total_ns": timing.total_ns, "onewrite.attempts": timing.index + 1}
    for name in _PHASES:
        found[f"onewrite.{name}"] = getattr(timing, name)
    kernel = timing.kernel
    if kernel is not None:
        found["onewrite.segments_out"] = kernel.segments_out
        found["onewrite.send_hold_ns"] = kernel.send_hold_ns
    return {name: value for name, value in found.items() if value is not None}
