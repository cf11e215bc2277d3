"""onewrite.opentelemetry on the real SDK, without instrumentations: what is told, of which call, and to whom."""

from __future__ import annotations

import typing

import pytest
import urllib3

import onewrite
import onewrite.opentelemetry
from tap import mode
from telemetry import Telemetry

BODY = b"x" * 200


@pytest.fixture
def telemetry() -> typing.Iterator[Telemetry]:
    made = Telemetry()
    failures = onewrite.hook_failures()
    yield made
    assert onewrite.hook_failures() == failures
    onewrite.uninstall()
    made.close()


def test_one_line(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    server = tap()
    http = urllib3.PoolManager()
    for _ in range(20):
        with telemetry.tracer.start_as_current_span("call"):
            http.request("POST", server.url("/a?b"), body=BODY)

    for number, (span, log) in enumerate(zip(telemetry.spans(), telemetry.logs(), strict=True)):
        assert (log.trace_id, log.span_id) == (span.context.trace_id, span.context.span_id)
        attributes = dict(span.attributes or {})
        assert attributes["onewrite.conn_requests"] == number + 1
        assert attributes["onewrite.reused"] is (number > 0)
        assert attributes["onewrite.attempts"] == 1
        assert ("onewrite.connect_ns" in attributes) is (number == 0)
        assert 0 < attributes["onewrite.wait_ns"] < attributes["onewrite.total_ns"]
        assert attributes.items() <= dict(log.attributes).items()
        assert not span.events
        assert log.event_name == "onewrite.request"
        assert log.attributes["url.full"] == server.url("/a?b")
        assert log.body["attempts"][0]["conn_requests"] == number + 1
        assert log.body["total_ns"] == attributes["onewrite.total_ns"]
        assert span.start_time <= log.timestamp <= span.end_time

    metrics = telemetry.metrics()
    (duration,), (wait,) = metrics["http.client.request.duration"], metrics["onewrite.wait.duration"]
    assert duration.attributes == {
        "http.request.method": "POST",
        "server.address": "127.0.0.1",
        "server.port": server.port,
        "http.response.status_code": 200,
    }
    assert duration.count == wait.count == 20
    assert 0 < wait.value < duration.value
    assert 0.035 in wait.edges
    assert 0.075 in duration.edges
    requests = {point.attributes["onewrite.reused"]: point.value for point in metrics["onewrite.requests"]}
    assert requests == {False: 1, True: 19}
    assert telemetry.open_connections() == {"active": 0, "idle": 1}
    http.clear()
    assert telemetry.open_connections() == {"active": 0, "idle": 0}
    (connection,) = telemetry.metrics()["http.client.connection.duration"]
    assert connection.attributes == {"server.address": "127.0.0.1", "server.port": server.port}
    assert connection.count == 1
    assert connection.value >= duration.value / 2

    assert mode(one.segments for one in server.seen) == 1
