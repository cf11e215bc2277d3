"""Server-Timing of real answers in the record: from every client, of the final answer, not without a hook."""

from __future__ import annotations

import pickle
import time
import typing

import hypothesis
import hypothesis.strategies as st
import pytest
import requests
import urllib3

import onewrite
import onewrite.requests
from httpx_clients import LIBRARIES, RUNTIMES, WAYS, Clients
from onewrite import mappers
from onewrite._timing import server_timing
from tap import Peer, Seen, reply

MS = 1_000_000
#: Far less than the server takes: ``wait`` has to be longer than what it claims, also for a client that is late.
SAID = (
    'Server-Timing: cache;desc="hit, or miss", db;dur=4.5',
    "server-timing: total;dur=6",
    "Server-Timing: @;dur=9",
)
ENTRIES = [
    onewrite.ServerTiming("cache", None, "hit, or miss"),
    onewrite.ServerTiming("db", 4_500_000),
    onewrite.ServerTiming("total", 6 * MS),
]


def slow(peer: Peer, seen: Seen) -> None:
    time.sleep(0.2)
    peer.send(reply(b"ok", "200 OK", *SAID))


def clients(url: str) -> dict[str, typing.Callable[[typing.Any], None]]:
    """Each way to use urllib3, with a hook."""

    def own(hook: typing.Any) -> None:
        http = onewrite.PoolManager(on_timing=hook)
        for _ in range(2):
            http.request("POST", url, body=b"x")

    def left_to_urllib3(hook: typing.Any) -> None:
        http = onewrite.PoolManager(on_timing=hook)
        for _ in range(2):
            http.request("POST", url, body=b"x")

    def installed(hook: typing.Any) -> None:
        onewrite.install(on_timing=hook)
        try:
            http = urllib3.PoolManager()
            for _ in range(2):
                http.request("POST", url, body=b"x")
        finally:
            onewrite.uninstall()

    def adapter(hook: typing.Any) -> None:
        with requests.Session() as session:
            session.trust_env = False
            session.mount("http://", onewrite.requests.Adapter(on_timing=hook))
            for _ in range(2):
                session.post(url, data=b"x")

    return {one.__name__: one for one in (own, left_to_urllib3, installed, adapter)}


def check(timing: onewrite.Timing) -> None:
    assert timing.server_timing == ENTRIES
    assert timing.server_ns == 6 * MS
    assert timing.wait_ns is not None
    assert timing.network_ns == timing.wait_ns - 6 * MS
    told = timing.to_dict()
    assert told["server_timing"] == [one.to_dict() for one in ENTRIES]
    assert told["attempts"][-1]["server_ns"] == 6 * MS
    assert f" = server 6.0 + network {timing.network_ns / 1e6:.1f}, receive" in str(timing)
    assert mappers.otel_phases(timing)["onewrite.network_ns"] == timing.network_ns
    assert mappers.resource_timing(timing)["serverTiming"][0] == {
        "name": "cache",
        "duration": 0,
        "description": "hit, or miss",
    }
    assert pickle.loads(pickle.dumps(timing)).server_timing == ENTRIES


@pytest.mark.parametrize("way", ["own", "left_to_urllib3", "installed", "adapter"])
def test_from_clients_of_urllib3(way: str, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    clients(tap(slow).url())[way](timings.append)
    assert [timing.reused for timing in timings] == [False, True]
    for timing in timings:
        check(timing)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("way", WAYS)
def test_from_clients_of_httpx(library: str, runtime: str, way: str, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    url = tap(slow).url()
    Clients(library, runtime, way).run([("POST", url, {"content": b"x"})] * 2, hooks={"on_timing": timings.append})
    assert len(timings) == 2
    for timing in timings:
        check(timing)


def test_only_that_of_the_final_answer(tap: typing.Any) -> None:
    def hinting(peer: Peer, seen: Seen) -> None:
        peer.send(b"HTTP/1.1 103 Early Hints\r\nServer-Timing: early;dur=1\r\n\r\n")
        time.sleep(0.02)
        peer.send(reply(b"ok", "200 OK", "Server-Timing: late;dur=2"))

    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    http.request("GET", tap(hinting).url())
    assert timings[0].server_timing == [onewrite.ServerTiming("late", 2 * MS)]


def test_each_attempt_has_its_own(tap: typing.Any) -> None:
    def redirecting(peer: Peer, seen: Seen) -> None:
        if seen.line.startswith("GET /a "):
            peer.send(reply(b"", "302 Found", "Location: /b", "Server-Timing: first"))
        else:
            peer.send(reply(b"ok"))

    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    http.request("GET", tap(redirecting).url("/a"))
    (timing,) = timings
    assert [one.server_timing for one in timing.attempts] == [[onewrite.ServerTiming("first")], None]
    assert timing.server_timing is None
    assert "server_timing" not in timing.to_dict()
    assert "serverTiming" not in mappers.resource_timing(timing)


def test_a_server_that_claims_more_than_the_wait(tap: typing.Any) -> None:
    def boasting(peer: Peer, seen: Seen) -> None:
        peer.send(reply(b"ok", "200 OK", "Server-Timing: total;dur=9000"))

    timings: list[onewrite.Timing] = []
    onewrite.PoolManager(on_timing=timings.append).request("GET", tap(boasting).url())
    (timing,) = timings
    assert timing.server_timing == [onewrite.ServerTiming("total", 9000 * MS)]
    assert timing.server_ns is timing.network_ns is None
    assert "network" not in str(timing)


@pytest.mark.parametrize("way", ["own", "installed"])
def test_without_a_hook_nobody_looks(way: str, tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object) -> typing.NoReturn:
        raise AssertionError("looked")

    monkeypatch.setattr(server_timing, "parse", looked)
    monkeypatch.setattr("http.client.HTTPMessage.get_all", looked)
    clients(tap(slow).url())[way](None)


@hypothesis.given(st.lists(st.text(st.sampled_from('ab"\\;,= \tdur.0159desctotal\x00\xe9'))))
@hypothesis.settings(deadline=None)
def test_nonsense_never_raises_and_is_bounded(fields: list[str]) -> None:
    for many in (fields, fields * 100, ["x" * 5000, *fields], ["a," * 5000]):
        found = server_timing.parse(many) or []
        assert len(found) <= server_timing.MOST_ENTRIES
        for one in found:
            assert one.duration_ns is None or 0 <= one.duration_ns <= 86_400_000 * MS
            assert one.description is None or 0 < len(one.description) <= 128


def test_the_worst_field_takes_no_time() -> None:
    """Parsing is bounded: megabytes take as long as four kilobytes."""
    short, long = '"\\' * 2048, '"\\' * 4_000_000

    def taken(field: str) -> float:
        best = 9.0
        for _ in range(5):
            start = time.perf_counter()
            server_timing.parse([field] * 50)
            best = min(best, time.perf_counter() - start)
        return best

    assert taken(long) < 20 * taken(short)
