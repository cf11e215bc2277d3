"""Hooks replaced during requests, and callers interrupted at any line: each record is delivered once, unchanged."""

from __future__ import annotations

import collections
import os
import pathlib
import select
import signal
import sys
import threading
import typing

import pytest
import urllib3

import onewrite
from onewrite._timing import record as _record
from tap import Peer, Seen, reply

Sending = typing.Callable[[urllib3.PoolManager, str], object]


def own_path(peer: Peer, seen: Seen) -> None:
    peer.send(reply(seen.line.split()[1].encode()))


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("when", ["connection given", "body", "answer awaited", "answer streamed"])
def test_a_connection_that_uninstall_left_forgets_its_attempt(when: str, warm: bool, tap: typing.Any) -> None:
    def answer(peer: Peer, seen: Seen) -> None:
        if when == "answer awaited" and "/undone" in seen.line:
            onewrite.uninstall()
        own_path(peer, seen)

    server = tap(answer)
    timings: list[onewrite.Timing] = []
    http = urllib3.PoolManager(maxsize=1)
    pool: typing.Any = http.connection_from_url(server.url())
    onewrite.install(on_timing=timings.append)
    for _ in range(2 * warm):
        http.request("GET", server.url("/warm"))
    timings.clear()
    if when == "connection given":
        validate = pool._validate_conn

        def undoing(conn: typing.Any) -> None:
            onewrite.uninstall()
            validate(conn)

        pool._validate_conn = undoing
        http.request("GET", server.url("/undone"))
        del pool._validate_conn
    elif when == "body":

        def body() -> typing.Iterator[bytes]:
            onewrite.uninstall()
            yield b"body"

        http.request("POST", server.url("/undone"), body=body(), chunked=True)
    elif when == "answer awaited":
        http.request("GET", server.url("/undone"))
    else:
        response = http.request("GET", server.url("/undone"), preload_content=False)
        onewrite.uninstall()
        assert response.read() == b"/undone"
        response.release_conn()
    (timing,) = timings
    before = timing.to_dict()
    onewrite.install()
    for path in ("/next", "/last"):
        assert http.request("POST", server.url(path), body=b"x").data == path.encode()
    assert timings == [timing]
    assert timing.to_dict() == before
    assert pool.pool.queue[-1]._onewrite.watch is None
    http.clear()


def test_hooks_change_while_threads_send(tap: typing.Any) -> None:
    server = tap(own_path)
    timings: list[onewrite.Timing] = []
    failures: list[object] = []
    http = urllib3.PoolManager(maxsize=4)
    over = threading.Event()

    def send(name: int) -> None:
        try:
            for number in range(60):
                path = f"/{name}-{number}"
                if number % 3:
                    found = http.request("POST", server.url(path), body=b"x" * 200).data
                else:
                    found = http.request("GET", server.url(path), preload_content=False).read()
                if found != path.encode():
                    failures.append((path, found))
        except BaseException as error:
            failures.append(error)

    def change() -> None:
        while not over.is_set():
            for act in (hooked, onewrite.uninstall, hooked, onewrite.install, onewrite.uninstall, onewrite.install):
                act()
                over.wait(0.0005)

    def hooked() -> None:
        onewrite.install(on_timing=timings.append)

    interval = sys.getswitchinterval()
    threads = [threading.Thread(target=send, args=(name,)) for name in range(8)]
    changing = threading.Thread(target=change)
    try:
        sys.setswitchinterval(1e-5)
        for thread in (changing, *threads):
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        over.set()
        changing.join()
        onewrite.uninstall()
        sys.setswitchinterval(interval)
        http.clear()
    assert not failures
    asked = {server.url(f"/{name}-{number}") for name in range(8) for number in range(60)}
    recorded = collections.Counter(timing.url for timing in timings)
    assert set(recorded) < asked, "hooks were on for some, and off for some"
    assert set(recorded.values()) == {1}


class GivesUp(KeyboardInterrupt):
    """As from a signal. Anything else that a hook raises is swallowed."""


OURS, STOCK = (
    {str(path) for path in pathlib.Path(module.__file__).parent.rglob("*.py")} for module in (onewrite, urllib3)
)


def giving_up(line: int, files: set[str], send: typing.Callable[[], object]) -> bool:
    """Call *send*, raise before the *line*-th line of *files* that runs; return whether there was such a line."""
    left = line
    before = sys.gettrace()

    def trace(frame: typing.Any, event: str, arg: object) -> typing.Any:
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            left -= 1
            if not left:
                raise GivesUp
        return trace

    sys.settrace(trace)
    try:
        send()
    except (GivesUp, urllib3.exceptions.HTTPError):  # urllib3 may raise FullPoolError in its place
        pass
    finally:
        sys.settrace(before)
    return left <= 0


def lost_places(
    files: set[str], make: typing.Callable[[], urllib3.PoolManager], url: str, warm: bool,
    timings: list[onewrite.Timing], *, always: bool, enough: int = 2000,
) -> int:  # fmt: skip
    """At how many lines a signal cost a place in the pool. *enough* of them end the search.

    `always`: a line counts when it costs a place twice. Which lines run depends on the bytes at hand.
    """
    places = line = 0
    reached, again = True, False
    while reached and places < enough:
        line += not again
        http = make()
        if warm:
            http.request("GET", f"{url}warm")
        timings.clear()
        reached = giving_up(line, files, lambda http=http: http.request("POST", f"{url}a", body=b"x"))  # type: ignore[misc]
        lost = http.connection_from_url(url).pool.qsize() != 1
        if not lost:
            assert http.request("POST", f"{url}b", body=b"x").data == b"/b", "not the answer to another"
            if files is OURS:
                assert [timing.outcome for timing in timings if timing.url == f"{url}b"] == ["ok"]
        assert len({id(timing) for timing in timings}) == len(timings), "each is handed out once"
        http.clear()
        del http
        counts = again or not always
        places += counts and lost
        again = lost and not counts
    assert line < 2000
    assert line > 50 or places == enough
    return places


@pytest.mark.drawn
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:.*unclosed.*", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("answered", "warm"), [(True, False), (True, True), (False, True)], ids=["fresh", "reused", "closed unanswered"]
)
def test_a_signal_costs_no_more_places_in_the_pool_than_in_stock(
    answered: bool, warm: bool, library: typing.Any, tap: typing.Any
) -> None:
    """A record may be lost; no answer is mixed up, and no connection is lost that stock keeps."""

    def answer(peer: Peer, seen: Seen) -> None:
        if not answered and "/a" in seen.line:
            raise EOFError
        own_path(peer, seen)

    url = tap(answer).url()
    timings: list[onewrite.Timing] = []
    hooks = {"on_timing": timings.append} if library is onewrite else {}
    if not hooks:
        onewrite.install(on_timing=timings.append)
    ours = lost_places(
        OURS, lambda: library.PoolManager(retries=False, block=True, **hooks), url, warm, timings, always=True
    )
    onewrite.uninstall()
    stock = lost_places(
        STOCK, lambda: urllib3.PoolManager(retries=False, block=True), url, warm, timings, always=False,
        enough=max(ours, 1),
    )  # fmt: skip
    _record.current.set(None)
    assert ours <= stock
    assert stock > 0, "it is measured"


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


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal here")
def test_a_signal_while_the_answer_is_awaited(recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    """The late answer to an interrupted request is not taken for that to the next."""

    def ring(number: int, frame: object) -> None:
        raise GivesUp

    def answering(peer: Peer, seen: Seen) -> None:
        if "/held" in seen.line:
            os.kill(os.getpid(), signal.SIGUSR1)
            # Python runs no handler in a system call that began right after the signal: then a second one ends it.
            while not select.select([peer.sock], [], [], 1)[0]:
                os.kill(os.getpid(), signal.SIGUSR1)
        own_path(peer, seen)

    url = tap(answering).url()
    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with urllib3.PoolManager(maxsize=1, block=True, retries=False) as http:
            http.request("GET", f"{url}warm")
            for number in range(3):
                with pytest.raises(GivesUp):
                    http.request("POST", f"{url}held", body=b"x")
                assert http.request("GET", f"{url}b{number}", pool_timeout=20).data == b"/b%d" % number
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [timing.outcome for timing in recorded] == ["ok", *["cancelled", "ok"] * 3]
