"""Records in the words of others keep the rules of those others."""

from __future__ import annotations

import datetime
import typing

import pytest
import urllib3

import onewrite
from onewrite import mappers


@pytest.fixture
def timings(tap: typing.Any, authority: typing.Any) -> list[onewrite.Timing]:
    found: list[onewrite.Timing] = []
    server = tap(tls=True)
    http = onewrite.PoolManager(ca_certs=authority.pem, on_timing=found.append)
    for _ in range(2):
        http.request("POST", f"https://localhost:{server.port}/a", body=b"x")
    with pytest.raises(urllib3.exceptions.HTTPError):
        http.request("GET", "http://127.0.0.1:1/", retries=False)
    return found


def test_opentelemetry(timings: list[onewrite.Timing]) -> None:
    first, _, refused = (mappers.otel_attributes(one) for one in timings)
    assert first["http.request.method"] == "POST"
    assert first["server.address"] == "localhost"
    assert first["http.response.status_code"] == 200
    assert "error.type" not in first
    assert refused["error.type"] == "connect"
    metrics = mappers.otel_metrics(timings[0])
    assert 0 < metrics["http.client.request.duration"] <= timings[0].total_ns / 1e9
    assert "http.client.request.time_in_queue" not in metrics


def test_resource_timing(timings: list[onewrite.Timing]) -> None:
    order = [
        "startTime", "fetchStart", "domainLookupStart", "domainLookupEnd", "connectStart", "secureConnectionStart",
        "connectEnd", "requestStart", "responseStart", "responseEnd",
    ]  # fmt: skip
    first, reused, refused = (mappers.resource_timing(one) for one in timings)
    values = [first[name] for name in order]
    assert values == sorted(values)
    assert all(value > 0 for value in values[2:])
    assert reused["connectStart"] == reused["connectEnd"] == reused["domainLookupStart"] == reused["fetchStart"]
    assert reused["secureConnectionStart"] == 0
    assert refused["requestStart"] == refused["responseStart"] == refused["responseEnd"] == 0


def test_har(timings: list[onewrite.Timing]) -> None:
    first, reused, refused = (mappers.har_timings(one) for one in timings)
    assert first["timings"]["connect"] > first["timings"]["ssl"] > 0
    assert reused["timings"]["connect"] == reused["timings"]["ssl"] == reused["timings"]["dns"] == -1
    assert refused["timings"]["wait"] == -1
    started = datetime.datetime.fromisoformat(first["startedDateTime"])
    assert abs(started.timestamp() - timings[0].started_at_unix_ns / 1e9) < 0.001
    assert sum(value for name, value in first["timings"].items() if value > 0 and name != "ssl") <= first["time"]
