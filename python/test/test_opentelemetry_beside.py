"""onewrite.opentelemetry beside OpenTelemetry's own instrumentations: whoever was switched on first.

A program is run over stock and over onewrite. The spans are the same but for ``onewrite.*``; each has the phases of
its request, each record's log event has the ids of its span, and a request arrives in one segment.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
import time
import typing

import httpx
import pytest
import requests
import urllib3

import onewrite
import onewrite.httpx
import onewrite.opentelemetry
import onewrite.requests
from tap import Peer, Seen, Tap, mode, reply
from telemetry import Telemetry

BODY = b"x" * 200
JUDGED = 8

#: Which instrumentation makes the spans of a client.
CLIENTS = {
    "manager": "urllib3.URLLib3Instrumentor",
    "requests": "requests.RequestsInstrumentor",
    "httpx": "httpx.HTTPXClientInstrumentor",
    "asyncio": "httpx.HTTPXClientInstrumentor",
}
ORDERS = ("instrumentation-first", "onewrite-first")


def answer(peer: Peer, seen: Seen) -> None:
    path = seen.line.split(" ")[1]
    if path == "/missing":
        peer.send(reply(b"no such thing", "404 Not Found"))
    elif path == "/redirect":
        peer.send(reply(b"", "302 Found", "Location: /get"))
    elif path == "/gone":
        raise EOFError
    else:
        time.sleep(0.002)
        peer.send(reply(b"ok"))


class Client(typing.Protocol):
    """A client of the program: sends a request, and reads the answer now or later."""

    def __call__(self, method: str, url: str, body: typing.Any = None, later: bool = False) -> int: ...


@contextlib.contextmanager
def manager(own: bool, listener: typing.Any) -> typing.Iterator[Client]:
    http: typing.Any = onewrite.PoolManager(listener=listener) if own else urllib3.PoolManager()

    def ask(method: str, url: str, body: typing.Any = None, later: bool = False) -> int:
        response = http.request(
            method, url, body=body, retries=urllib3.Retry(2, connect=0, read=0), preload_content=not later
        )
        response.read()
        response.release_conn()
        return int(response.status)

    yield ask
    http.clear()


@contextlib.contextmanager
def with_requests(own: bool, listener: typing.Any) -> typing.Iterator[Client]:
    with requests.Session() as session:
        session.trust_env = False
        if own:
            session.mount("http://", onewrite.requests.Adapter(listener=listener))

        def ask(method: str, url: str, body: typing.Any = None, later: bool = False) -> int:
            response = session.request(method, url, data=body, stream=later)
            assert response.content is not None
            return response.status_code

        yield ask


@contextlib.contextmanager
def with_httpx(own: bool, listener: typing.Any) -> typing.Iterator[Client]:
    transport = onewrite.httpx.Transport(listener=listener) if own else None
    with httpx.Client(transport=transport, trust_env=False, follow_redirects=True) as client:

        def ask(method: str, url: str, body: typing.Any = None, later: bool = False) -> int:
            with client.stream(method, url, content=body) as response:
                response.read()
                return response.status_code

        yield ask


@contextlib.contextmanager
def with_asyncio(own: bool, listener: typing.Any) -> typing.Iterator[Client]:
    transport = onewrite.httpx.AsyncTransport(listener=listener) if own else None
    client = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True)

    async def asked(method: str, url: str, body: typing.Any) -> int:
        async def pieces() -> typing.AsyncIterator[bytes]:
            for piece in body:
                yield piece

        async with client.stream(method, url, content=pieces() if hasattr(body, "__next__") else body) as response:
            await response.aread()
            return response.status_code

    loop = asyncio.new_event_loop()
    try:
        yield lambda method, url, body=None, later=False: loop.run_until_complete(asked(method, url, body))
        loop.run_until_complete(client.aclose())
    finally:
        loop.close()


MAKERS: dict[str, typing.Any] = {
    "manager": manager,
    "requests": with_requests,
    "httpx": with_httpx,
    "asyncio": with_asyncio,
}


def program(ask: Client, url: str, dead: str) -> list[typing.Any]:
    """Make the program's requests; return what the caller sees."""
    came: list[typing.Any] = [ask("POST", url + "/judged", BODY) for _ in range(JUDGED)]
    for method, path, body, later in (
        ("GET", "/missing", None, False),
        ("GET", "/redirect", None, False),
        ("POST", "/chunked", iter([b"one", b"two"]), False),
        ("GET", "/later", None, True),
        ("POST", "/gone", BODY, False),
        ("GET", dead, None, False),
    ):
        try:
            came.append(ask(method, path if path == dead else url + path, body, later))
        except Exception as error:
            came.append(type(error).__name__)
    return came


class Ran(typing.NamedTuple):
    came: list[typing.Any]
    telemetry: Telemetry
    seen: list[Seen]


@contextlib.contextmanager
def switched_on(name: str, telemetry: Telemetry) -> typing.Iterator[None]:
    module, _, kind = CLIENTS[name].partition(".")
    instrumentor = getattr(importlib.import_module(f"opentelemetry.instrumentation.{module}"), kind)()
    instrumentor.instrument(tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextlib.contextmanager
def onewrite_on(way: str, telemetry: Telemetry) -> typing.Iterator[None]:
    if way != "installed":
        yield
        return
    onewrite.opentelemetry.instrument(httpx=True, **telemetry.ours)
    try:
        yield
    finally:
        onewrite.httpx.uninstall()
        onewrite.uninstall()


def run(name: str, way: str, order: str, tap: Tap, dead: str) -> Ran:
    telemetry = Telemetry()
    before = len(tap.seen)
    both: list[typing.Callable[[], typing.ContextManager[None]]] = [
        lambda: switched_on(name, telemetry),
        lambda: onewrite_on(way, telemetry),
    ]
    with contextlib.ExitStack() as stack:
        for begin in both if order == "instrumentation-first" else reversed(both):
            stack.enter_context(begin())
        listener = onewrite.opentelemetry.listener(**telemetry.ours)
        ask = stack.enter_context(MAKERS[name](way == "own", listener))
        came = program(ask, tap.url("").rstrip("/"), dead)
    return Ran(came, telemetry, tap.seen[before:])


def without_ours(telemetry: Telemetry) -> list[typing.Any]:
    """The spans as over stock: in order, their attributes, status and events."""
    return [
        (
            span.name,
            span.kind,
            span.status.status_code,
            {key: value for key, value in (span.attributes or {}).items() if not key.startswith("onewrite.")},
            [event.name for event in span.events],
        )
        for span in telemetry.spans()
    ]


@pytest.fixture(scope="module")
def server() -> typing.Iterator[tuple[Tap, str]]:
    with Tap(answer) as tap, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield tap, f"http://127.0.0.1:{closed.getsockname()[1]}/dead"


@pytest.fixture(scope="module")
def stock(server: tuple[Tap, str]) -> typing.Callable[[str], Ran]:
    ran: dict[str, Ran] = {}

    def once(name: str) -> Ran:
        if name not in ran:
            ran[name] = run(name, "stock", "instrumentation-first", *server)
        return ran[name]

    return once


@pytest.mark.parametrize("way", ["own", "installed"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CLIENTS)
def test_spans_are_those_over_stock_with_phases(
    name: str, order: str, way: str, server: tuple[Tap, str], stock: typing.Callable[[str], Ran]
) -> None:
    failures = onewrite.hook_failures()
    wanted, ours = stock(name), run(name, way, order, *server)

    assert ours.came == wanted.came
    assert ours.came[:JUDGED] == [200] * JUDGED
    assert without_ours(ours.telemetry) == without_ours(wanted.telemetry)
    assert [one.line for one in ours.seen] == [one.line for one in wanted.seen]
    assert all(one.header("traceparent") for one in ours.seen)
    assert mode(one.segments for one in ours.seen if one.line.startswith("POST /judged")) == 1
    assert onewrite.hook_failures() == failures

    spans = ours.telemetry.spans()
    phases = [
        {key.removeprefix("onewrite."): value for key, value in (span.attributes or {}).items() if "onewrite" in key}
        for span in spans
    ]
    *answered, gone, dead = phases
    for span, found in zip(spans, answered, strict=False):
        assert {"send_ns", "wait_ns", "reused", "conn_id", "conn_requests"} <= found.keys()
        assert found["wait_ns"] < (span.end_time or 0) - (span.start_time or 0)
    assert [found["reused"] for found in answered[1:JUDGED]] == [True] * (JUDGED - 1)
    assert answered[0]["connect_ns"] > 0
    assert "send_ns" in gone
    assert "wait_ns" in gone
    assert "connect_ns" in dead or "dns_ns" in dead
    assert "send_ns" not in dead

    # A log event for each call, with the ids of its span. urllib3 follows a redirect within the call, its
    # instrumentation with a span for each hop of a manager; requests with a call for each hop, within one span.
    logs = ours.telemetry.logs()
    calls = len(ours.came)
    assert len(logs) == calls + (name != "manager")
    assert len(spans) == calls + (name in ("manager", "httpx", "asyncio"))
    by_id = {span.context.span_id: (span, found) for span, found in zip(spans, phases, strict=True)}
    last = {log.span_id: log for log in logs}
    assert len(last) == len(spans) - (name == "manager")
    for log in last.values():
        span, found = by_id[log.span_id]
        assert log.trace_id == span.context.trace_id
        for key, value in found.items():
            # Attributes of an earlier attempt that the last one lacks stay: a span attribute cannot be removed.
            again = len(log.body["attempts"]) > 1 or sum(one.span_id == log.span_id for one in logs) > 1
            assert log.attributes.get(f"onewrite.{key}") == value or again or key == "attempts", key
        assert log.body["attempts"]
    assert [log.attributes["error.type"] for log in logs[-2:]] == ["closed", "connect"]

    metrics = ours.telemetry.metrics()
    reached = len(ours.seen)
    assert sum(one.value for one in metrics["onewrite.requests"]) == reached
    assert sum(one.count for one in metrics["onewrite.wait.duration"]) == reached
    # Each POST is one attempt.
    posted = [one for one in metrics["onewrite.wait.duration"] if one.attributes["http.request.method"] == "POST"]
    assert sum(one.count for one in posted) == JUDGED + 2
