"""A record in the words of OpenTelemetry, W3C Resource Timing and HAR (TIME-30).

`at` of an attempt holds the times of its events, in ns from the start of the call.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

__all__ = ["har_timings", "otel_attributes", "otel_metrics", "otel_phases", "resource_timing"]

Record = dict[str, Any]


def otel_attributes(record: Record) -> Record:
    """Attributes of an HTTP client span."""
    last = record["attempts"][-1]
    found = {"http.request.method": record["method"], "url.full": record["url"]}
    try:
        url = urlsplit(record["url"])
        port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    except ValueError:
        port = None
    if port and url.hostname:
        found |= {"server.address": url.hostname, "server.port": port}
    if "status" in last:
        found["http.response.status_code"] = last["status"]
    if len(record["attempts"]) > 1:
        found["http.request.resend_count"] = len(record["attempts"]) - 1
    if record["outcome"] == "cancelled":
        found["error.type"] = "cancelled"
    elif "error_kind" in record:
        found["error.type"] = record["error_kind"]
    elif last.get("status", 0) >= 400:
        found["error.type"] = str(last["status"])
    return found


def otel_metrics(record: Record) -> Record:
    """Metrics in seconds. The duration is the last attempt's, until its answer began or, without one, until its end."""
    last = record["attempts"][-1]
    at = last["at"]
    found = {"http.client.request.duration": (at.get("response_start", at["attempt_end"]) - at["attempt_start"]) / 1e9}
    if "queue_ns" in last:
        found["http.client.request.time_in_queue"] = last["queue_ns"] / 1e9
    return found


def otel_phases(record: Record) -> Record:
    """Attributes of a span for what OpenTelemetry has no names for: the last attempt's phases in ns, and the cause."""
    last = record["attempts"][-1]
    kernel = last.get("kernel", {})
    names = ("queue", "dns", "connect", "tls", "send", "wait", "receive", "server", "network")
    said = {f"{name}_ns": last.get(f"{name}_ns") for name in names}
    said |= {name: last.get(name) for name in ("cause", "reused", "conn_id", "conn_requests")}
    said |= {name: kernel.get(name) for name in ("segments_out", "send_hold_ns")}
    said |= {"total_ns": record["total_ns"], "attempts": len(record["attempts"])}
    return {f"onewrite.{name}": value for name, value in said.items() if value is not None}


def resource_timing(record: Record) -> Record:
    """A PerformanceResourceTiming entry of the last attempt, in ms from the start of the call."""
    last = record["attempts"][-1]
    at = {name: ns / 1e6 for name, ns in last["at"].items()}
    fetch = at["attempt_start"]
    found = {
        "name": record["url"],
        "entryType": "resource",
        "startTime": 0,
        "fetchStart": fetch,
        "domainLookupStart": at.get("dns_start", fetch),
        "domainLookupEnd": at.get("dns_end", fetch),
        "connectStart": at.get("connect_start", fetch),
        "secureConnectionStart": at.get("tls_start", 0),
        "connectEnd": at.get("tls_end", at.get("connect_end", fetch)),
        "requestStart": at.get("request_start", 0),
        "responseStart": at.get("response_start", 0),
        "responseEnd": at.get("response_end", 0),
        "duration": record["total_ns"] / 1e6,
        "responseStatus": last.get("status", 0),
        "encodedBodySize": last.get("bytes_received", 0),
        "nextHopProtocol": "http/1.1",
    }
    if "server_timing" in last:
        found["serverTiming"] = [
            {
                "name": entry["name"],
                "duration": entry.get("duration_ns", 0) / 1e6,
                "description": entry.get("description", ""),
            }
            for entry in last["server_timing"]
        ]
    return found


def har_timings(record: Record) -> Record:
    """The times of a HAR 1.2 entry of the last attempt, in ms; -1 is what did not happen."""
    last = record["attempts"][-1]

    def ms(phase: str) -> float:
        return last[f"{phase}_ns"] / 1e6 if f"{phase}_ns" in last else -1

    started = datetime.fromtimestamp(record["started_at_unix_ns"] // 1_000_000_000, timezone.utc)
    return {
        "startedDateTime": f"{started:%Y-%m-%dT%H:%M:%S}.{record['started_at_unix_ns'] // 1_000_000 % 1000:03}Z",
        "time": record["total_ns"] / 1e6,
        "timings": {
            "blocked": ms("queue"),
            "dns": ms("dns"),
            "connect": ms("connect") + max(ms("tls"), 0) if ms("connect") >= 0 else -1,
            "ssl": ms("tls"),
            "send": ms("send"),
            "wait": ms("wait"),
            "receive": ms("receive"),
        },
    }
