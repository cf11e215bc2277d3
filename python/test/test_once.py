"""Each request is sent once, on one connection, and gets its own answer, whatever hooks and signals do."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import typing

import pytest
import urllib3

import onewrite
from tap import Peer, Seen, Tap, reply

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"

Making = typing.Callable[..., typing.Any]


class Held:
    """Answers /held when released, everything else at once."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.arrived = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, peer: Peer, seen: Seen) -> None:
        if " /held" in seen.line:
            self.arrived.set()
            assert self.go_on.wait(30)
            peer.send(self.answer)
        else:
            peer.send(reply())


def meanwhile(held: Held, send: typing.Callable[[], typing.Any], act: typing.Callable[[], object]) -> typing.Any:
    """Call *send* on a thread and *act* while it waits for the answer; return the response."""
    found: list[typing.Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            found.append(send())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert held.arrived.wait(30)
        act()
    finally:
        held.go_on.set()
        thread.join(30)
    assert not failures
    return found[0]


def lines(tap: Tap) -> list[str]:
    return [one.line.rpartition(" ")[0] for one in tap.seen]


def hooks() -> dict[str, typing.Any]:
    return {"on_timing": lambda timing: None}


@pytest.fixture(params=["plain", "hooks", "stock"])
def make(request: pytest.FixtureRequest) -> Making:
    if request.param == "stock":
        return urllib3.PoolManager
    more = hooks() if request.param == "hooks" else {}
    return lambda **keywords: onewrite.PoolManager(**more, **keywords)


def test_the_pool_is_evicted_while_the_answer_is_awaited(make: Making, tap: typing.Any) -> None:
    held = Held(CHUNKED)
    server, other = tap(held), tap()
    http = make(num_pools=1)
    http.request("GET", server.url("/warm"))
    response = meanwhile(
        held,
        lambda: http.request("POST", server.url("/held"), body=b"x"),
        lambda: http.request("GET", other.url("/")),
    )
    assert response.data == b"ok"
    assert lines(server) == ["GET /warm", "POST /held"]
    http.clear()


@pytest.mark.parametrize("status", ["303 See Other", "307 Temporary Redirect"])
def test_the_pools_are_cleared_while_a_redirect_is_awaited(status: str, make: Making, tap: typing.Any) -> None:
    held = Held(reply(b"", status, "Location: /there"))
    server = tap(held)
    http = make()
    http.request("GET", server.url("/warm"))
    response = meanwhile(held, lambda: http.request("POST", server.url("/held"), body=b"x"), http.clear)
    assert response.status == 200
    assert response.retries.history[-1].redirect_location == "/there"
    method = "GET" if "303" in status else "POST"
    assert lines(server) == ["GET /warm", "POST /held", f"{method} /there"]
    http.clear()


@pytest.mark.parametrize("kind", ["asks its parent", "has pools of its own", "on the object"])
@pytest.mark.parametrize("library", [urllib3, onewrite])
def test_a_manager_that_goes_round_servers(library: typing.Any, kind: str, tap: typing.Any) -> None:
    """Each request, retry and redirect gets a pool once, as in urllib3's own manager."""

    def answering(peer: Peer, seen: Seen) -> None:
        peer.send(reply(b"", "302 Found", "Location: /there") if "/moved" in seen.line else CHUNKED)

    servers = [tap(answering) for _ in range(3)]
    chosen: list[int] = []
    pools = [library.HTTPConnectionPool("127.0.0.1", one.port) for one in servers]

    def turn() -> int:
        chosen.append(len(chosen) % 3)
        return chosen[-1]

    class Round(library.PoolManager):  # type: ignore[misc]
        def connection_from_host(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            if kind == "has pools of its own":
                return pools[turn()]
            kwargs["port"] = servers[turn()].port
            return super().connection_from_host(*args, **kwargs)

    http = library.PoolManager() if kind == "on the object" else Round()
    if kind == "on the object":
        http.connection_from_host = lambda *args, **kwargs: pools[turn()]
    for number in range(12):
        path = "/moved" if number % 4 == 3 else "/"
        assert http.request("POST", f"http://127.0.0.1:1{path}", body=b"x").status == 200
    assert sum(len(one.seen) for one in servers) == len(chosen) == 12 + 3
    assert [len(one.seen) for one in servers] == [5, 5, 5]
    http.clear()
    for pool in pools:
        pool.close()


# -- someone gives up, or a hook does ----------------------------------------------------------------


class GivesUp(KeyboardInterrupt):
    """As from a signal. Anything else that a hook raises is swallowed."""


@pytest.mark.parametrize(
    "name", ["call_start", "request_start", "request_end", "response_start", "headers_end", "response_end"]
)
def test_a_listener_that_gives_up_mixes_no_answers(name: str, tap: typing.Any) -> None:
    server = tap(lambda peer, seen: peer.send(reply(seen.line.split()[1].encode())))
    armed = [False]

    def raising(self: typing.Any, event: onewrite.Event) -> None:
        if armed[0]:
            armed[0] = False
            raise GivesUp

    listener = type("Listener", (onewrite.TimingListener,), {f"on_{name}": raising})()
    http = onewrite.PoolManager(maxsize=1, block=True, listener=listener)
    for number in range(3):
        http.request("GET", server.url("/warm"))
        armed[0] = True
        with pytest.raises(GivesUp):
            http.request("POST", server.url(f"/a{number}"), body=b"x")
        assert http.connection_from_url(server.url()).pool.qsize() == 1, "the place in the pool is kept"
        answer = http.request("GET", server.url(f"/b{number}"), pool_timeout=10)
        assert answer.data == f"/b{number}".encode()
    http.clear()


@pytest.mark.parametrize("library", [urllib3, onewrite])
def test_a_retry_that_raises_loses_no_place_in_the_pool(library: typing.Any, tap: typing.Any) -> None:
    class Raising(urllib3.Retry):
        def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
            raise GivesUp

    server = tap(lambda peer, seen: peer.send(reply(seen.line.split()[1].encode(), "500 Oops")))
    http = library.PoolManager(maxsize=1, block=True)
    for number in range(3):
        assert http.request("GET", server.url("/warm"), retries=False).status == 500
        with pytest.raises(GivesUp):
            http.request("POST", server.url("/a"), body=b"x", retries=Raising(3))
        answer = http.request("GET", server.url(f"/b{number}"), retries=False, pool_timeout=10)
        assert answer.data == f"/b{number}".encode()
    http.clear()


ALARM = """
import signal, sys, urllib3, onewrite

class Rang(BaseException):
    pass

def ring(number, frame):
    raise Rang

signal.signal(signal.SIGALRM, ring)
for more in ({}, {"on_timing": lambda timing: None}):
    http = onewrite.PoolManager(maxsize=1, block=True, retries=False, **more)
    http.request("GET", sys.argv[1] + "warm")
    for number in range(3):
        try:
            http.request("POST", sys.argv[1] + "held", body=b"x")
        except Rang:
            pass
        else:
            raise SystemExit("no alarm")
        answer = http.request("GET", sys.argv[1] + "b%d" % number, pool_timeout=20)
        assert answer.data == b"/b%d" % number, answer.data
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarms here")
def test_an_alarm_while_the_answer_is_awaited(tap: typing.Any) -> None:
    """The late answer to an interrupted request is not taken for that to the next."""
    started, over = threading.Event(), threading.Event()

    def answering(peer: Peer, seen: Seen) -> None:
        if "/held" in seen.line:
            assert started.wait(30)
            os.kill(process.pid, signal.SIGALRM)
            # Python runs no handler in a system call that began right after the signal: then a second one ends it.
            while not select.select([peer.sock], [], [], 1)[0] and not over.is_set():
                os.kill(process.pid, signal.SIGALRM)
            over.wait(60)
        peer.send(reply(seen.line.split()[1].encode()))

    server = tap(answering)
    command = [sys.executable, "-c", ALARM, server.url()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        started.set()
        _, said = process.communicate(timeout=50)
    over.set()
    assert process.returncode == 0, said
    assert lines(server).count("POST /held") == 6


# -- the user's own rules of retries -----------------------------------------------------------------


class Accepted(urllib3.Retry):
    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        return status_code == 202 or super().is_retry(method, status_code, has_retry_after)


class After202(urllib3.Retry):
    RETRY_AFTER_STATUS_CODES = frozenset({202})


@pytest.mark.parametrize("kind", ["subclass", "codes of a subclass", "codes of the object"])
@pytest.mark.parametrize("library", [urllib3, onewrite])
def test_the_users_retries_are_asked(library: typing.Any, kind: str, tap: typing.Any) -> None:
    later = reply(b"", "202 Accepted", "Retry-After: 0")
    answers = [later, later, reply(b"done")]
    server = tap(lambda peer, seen: peer.send(answers.pop(0) if "/job" in seen.line else reply()))
    http = library.PoolManager()
    http.request("GET", server.url("/warm"))
    made: dict[str, type[urllib3.Retry]] = {"subclass": Accepted, "codes of a subclass": After202}
    retries = made.get(kind, urllib3.Retry)(5, allowed_methods=None)
    if kind == "codes of the object":
        retries.RETRY_AFTER_STATUS_CODES = frozenset({202})  # type: ignore[misc]
        answers.pop(0)  # each next one is made of the class: the object is asked once
    expected = [*answers]
    response = http.request("POST", server.url("/job"), body=b"x", retries=retries)
    assert (response.status, lines(server).count("POST /job")) == (200, len(expected))
    http.clear()
