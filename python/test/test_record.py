"""The record: the same however it is made, complete when copied, and without references to sockets."""

from __future__ import annotations

import contextvars
import copy
import gc
import json
import pickle
import socket
import subprocess
import sys
import threading
import typing
import weakref

import pytest
import urllib3

import onewrite
from tap import Peer, reply


@pytest.mark.parametrize("preload", [True, False])
def test_a_record_is_a_value_and_its_copies_are_whole(
    preload: bool, recorded: list[onewrite.Timing], tap: typing.Any
) -> None:
    server = tap()
    with urllib3.PoolManager() as http:
        for _ in range(2):
            url = f"http://user:secret@127.0.0.1:{server.port}/"
            http.request("POST", url, body=b"x", preload_content=preload).drain_conn()
    assert [timing.url for timing in recorded] == [server.url()] * 2
    assert b"secret" not in pickle.dumps(recorded)
    for timing in recorded:
        (last,) = timing.attempts
        assert (type(timing), type(last)) == (onewrite.Timing, onewrite.Attempt)
        for record in (timing, last):
            assert not hasattr(type(record), "__del__")
            assert not hasattr(record, "__dict__")
        found = timing.to_dict()
        assert json.loads(json.dumps(found))["attempts"][0]["send_ns"] == timing.send_ns == last.send_ns
        assert timing.started_at_mono_ns == last.attempt_start
        for one in (pickle.loads(pickle.dumps(timing)), copy.copy(timing), copy.deepcopy(timing)):
            assert (one.to_dict(), str(one), repr(one)) == (found, str(timing), repr(timing))
            assert repr(one.attempts) == repr(timing.attempts)


def test_a_record_keeps_nothing_else_alive(tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    url = tap().url()
    for _ in range(3):
        http.request("POST", url, body=b"x")
    sock = weakref.ref(http.connection_from_url(url).pool.queue[-1].sock)
    assert isinstance(sock(), socket.socket)
    http.clear()
    del http
    gc.collect()
    assert sock() is None, "three records are kept, the connection is not"
    assert [timing.status for timing in timings] == [200] * 3


def freed_at_once(tap: typing.Any) -> bool:
    """Whether a dropped response frees its connection, after an attempt that failed while it was drained."""
    connections: list[int] = []

    def cut(peer: Peer, seen: typing.Any) -> None:
        connections.append(seen.connection)
        if len(connections) == 1:
            peer.send(b"HTTP/1.1 503 Unavailable\r\nContent-Length: 100\r\n\r\nsome")
            raise EOFError
        peer.send(reply(b"x" * 100_000))

    server = tap(cut)
    gc.collect()
    gc.disable()
    try:
        http = urllib3.PoolManager()
        retries = urllib3.Retry(2, status_forcelist=[503], backoff_factor=0)
        response = http.request("GET", server.url("/again"), retries=retries, preload_content=False)
        assert response.status == 200
        connection = weakref.ref(response.connection)
        del response
        left = connection()
        if left is not None:
            left.close()
        http.clear()
        return left is None
    finally:
        gc.enable()


def test_a_response_that_is_dropped_after_a_retry_is_freed_at_once(tap: typing.Any) -> None:
    """Without the collector."""
    if not freed_at_once(tap):
        pytest.skip("this CPython leaves it to the collector, over stock as well")  # 3.12 and 3.13: contextlib
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append)
    assert freed_at_once(tap)
    assert not timings, "no hook is called in a finalizer"
    onewrite.status()
    assert [attempt.outcome for attempt in timings[0].attempts] == ["ok", "ok"], "urllib3 drains"


def responses() -> int:
    """How many responses there are in this process."""
    return sum(isinstance(one, urllib3.HTTPResponse) for one in gc.get_objects())


@pytest.mark.parametrize("how", ["stock", "own", "installed"])
def test_a_response_that_nobody_took_is_freed_at_once(how: str, tap: typing.Any) -> None:
    """It keeps the error of the attempt before it, and that error's traceback keeps its frames."""
    connections: list[int] = []

    def garbled(peer: Peer, seen: typing.Any) -> None:
        connections.append(seen.connection)
        peer.send(b"HTTP/0.5 200 OK\r\n\r\n" if len(connections) == 1 else reply(b"x" * 100_000))

    server = tap(garbled)
    hooks: dict[str, typing.Any] = {"on_timing": str, "listener": onewrite.TimingListener()}
    if how == "installed":
        onewrite.install(**hooks)
    gc.collect()
    gc.disable()
    try:
        before = responses()
        made: typing.Any = onewrite.HTTPConnectionPool if how == "own" else urllib3.HTTPConnectionPool
        pool = made("127.0.0.1", server.port, **(hooks if how == "own" else {}))
        pool.urlopen("GET", "/", preload_content=False, retries=urllib3.Retry(read=1))
        assert len(connections) == 2
        assert responses() == before
        pool.close()
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the socket's: "unclosed"
@pytest.mark.parametrize("cycle", ["response", "connection"])
@pytest.mark.parametrize("how", ["stock", "own", "installed"])
def test_a_response_that_is_freed_unread_in_a_cycle_ends_its_call(how: str, cycle: str, tap: typing.Any) -> None:
    """The collector frees young objects in the order in which they were made: the inner response before urllib3's,
    which closes its connection only where the inner one is still open."""
    timings: list[onewrite.Timing] = []
    closed = threading.Event()

    def answer(peer: Peer, seen: typing.Any) -> None:
        unfinished(peer, seen)
        try:
            peer.recv()
        finally:
            closed.set()

    server = tap(answer)
    if how == "installed":
        onewrite.install(on_timing=timings.append)
    gc.collect()
    gc.disable()
    try:
        http = onewrite.PoolManager(on_timing=timings.append) if how == "own" else urllib3.PoolManager()
        response = http.request("GET", server.url(), preload_content=False)
        (response if cycle == "response" else response.connection).itself = response
        del response
        assert timings == []
        gc.collect()
        assert closed.wait(20)
        assert timings == [], "no hook is called in a finalizer"
        onewrite.status()
        assert [timing.outcome for timing in timings] == ([] if how == "stock" else ["ok"])
        timings.clear()
        gc.collect()
        assert timings == []
    finally:
        gc.enable()
        http.clear()


def test_a_process_that_ends_with_an_unread_response_says_nothing_of_it(tap: typing.Any) -> None:
    script = f"""if True:
        import onewrite
        http = onewrite.PoolManager(on_timing=print)
        response = http.request("GET", {tap(unfinished).url()!r}, preload_content=False)
        response.itself = response
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def unfinished(peer: Peer, seen: typing.Any) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome")


def test_a_context_that_outlives_its_call(tap: typing.Any) -> None:
    """As asyncio.to_thread copies one: a later request in it is a new call, and the first record does not change."""
    timings: list[onewrite.Timing] = []
    contexts: list[contextvars.Context] = []

    class Retry(urllib3.Retry):
        def is_retry(self, *args: typing.Any, **kwargs: typing.Any) -> bool:
            contexts.append(contextvars.copy_context())
            return super().is_retry(*args, **kwargs)

    server = tap()
    onewrite.install(on_timing=timings.append)
    with urllib3.PoolManager() as http:
        for number in range(3):
            http.request("GET", server.url(f"/{number}"), retries=Retry(2))
        assert len(contexts) == 3
        for number, context in enumerate(contexts):
            context.run(http.request, "GET", server.url(f"/later-{number}"))
    assert [timing.url.rpartition("/")[2] for timing in timings] == ["0", "1", "2", "later-0", "later-1", "later-2"]
    assert [(timing.outcome, len(timing.attempts)) for timing in timings] == [("ok", 1)] * 6
