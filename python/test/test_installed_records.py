"""Records of all kinds of calls under install() are the same with a listener and without."""

from __future__ import annotations

import contextlib
import gc
import io
import threading
import typing

import pytest
import urllib3

import onewrite
from tap import Peer, Seen, reply
from test_record import Silent, gist
from test_timing import MS

Http = typing.Any
Send = typing.Callable[[Http, str], object]

BREAKS = urllib3.Retry(2, backoff_factor=0)
STATUSES = urllib3.Retry(3, status_forcelist=[503], allowed_methods=None, backoff_factor=0)


ANSWERS = {
    "/503": reply(b"", "503 Service Unavailable"),
    "/302": reply(b"", "302 Found", "Location: /there"),
    "/loop": reply(b"", "302 Found", "Location: /loop"),
    "/close": reply(b"bye", "200 OK", "Connection: close"),
    "/break": b"",
    "/100": b"HTTP/1.1 100 Continue\r\n\r\n" + reply(),
    "/103": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply(),
    "/large": reply(b"x" * 300_000),
    "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n",
}
silence = threading.Event()


def answer(peer: Peer, seen: Seen) -> None:
    """What a path asks for."""
    method, path, _ = seen.line.split(" ")
    if path == "/silent":
        silence.wait(20)
    elif method == "HEAD":
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    else:
        peer.send(ANSWERS.get(path, reply()))
    if path in ("/close", "/break", "/silent"):
        raise EOFError


def pieces() -> typing.Iterator[bytes]:
    yield b"some"
    yield b"thing"


def read_later(http: Http, url: str, how: str) -> None:
    response = http.request("GET", url, preload_content=False)
    if how == "read":
        response.read()
    elif how == "stream":
        list(response.stream(2))
    elif how == "release":
        response.release_conn()
    elif how == "close":
        response.close()
    else:
        del response
        gc.collect()


def kept(http: Http, url: str) -> None:
    http.request("GET", url, release_conn=False).release_conn()


def within(http: Http, url: str) -> None:
    """A body whose generator makes a request."""

    def body() -> typing.Iterator[bytes]:
        http.request("GET", url + "inner")
        yield b"outer"

    http.request("POST", url + "outer", body=body(), chunked=True)


def bare(http: Http, url: str) -> None:
    """A pool's own urlopen, as requests calls it."""
    pool = http.connection_from_url(url)
    pool.urlopen("POST", "/a?b=c", body=b"x" * 200)
    pool.urlopen("POST", "/503", body=b"x", retries=STATUSES)


SENDING: dict[str, Send] = {
    "bytes": lambda http, url: http.request("POST", url, body=b"x" * 200),
    "nothing": lambda http, url: http.request("GET", url),
    "HEAD": lambda http, url: http.request("HEAD", url),
    "text": lambda http, url: http.request("POST", url, body="text"),
    "form": lambda http, url: http.request("POST", url, fields={"a": "b"}),
    "large": lambda http, url: http.request("POST", url, body=b"x" * 20_000),
    "a file in memory": lambda http, url: http.request("POST", url, body=io.BytesIO(b"x" * 50_000)),
    "pieces": lambda http, url: http.request("POST", url, body=pieces(), chunked=True),
    "expecting": lambda http, url: http.request("POST", url, body=b"x", headers={"Expect": "100-continue"}),
    "retried": lambda http, url: http.request("POST", url + "503", body=b"x", retries=STATUSES),
    "retried in vain": lambda http, url: http.request("GET", url + "break", retries=BREAKS),
    "not retried": lambda http, url: http.request("GET", url + "break", retries=False),
    "redirected": lambda http, url: http.request("GET", url + "302"),
    "not followed": lambda http, url: http.request("GET", url + "302", redirect=False),
    "redirected in vain": lambda http, url: http.request("GET", url + "loop", retries=2),
    "closed": lambda http, url: http.request("GET", url + "close"),
    "interim answer": lambda http, url: http.request("POST", url + "100", body=b"x"),
    "other interim answer": lambda http, url: http.request("POST", url + "103", body=b"x"),
    "large answer": lambda http, url: http.request("GET", url + "large"),
    "chunks": lambda http, url: http.request("GET", url + "chunks"),
    "chunks, later": lambda http, url: read_later(http, url + "chunks", "stream"),
    "read": lambda http, url: read_later(http, url, "read"),
    "streamed": lambda http, url: read_later(http, url, "stream"),
    "released": lambda http, url: read_later(http, url, "release"),
    "given up": lambda http, url: read_later(http, url + "large", "close"),
    "dropped": lambda http, url: read_later(http, url + "large", "drop"),
    "kept": kept,
    "no time": lambda http, url: http.request("GET", url + "silent", timeout=0.2, retries=False),
    "refused": lambda http, url: http.request("GET", url, headers={"A": "b\nc"}),
    "another host": lambda http, url: http.connection_from_url(url).urlopen("GET", "http://localhost:1/"),
    "a body that asks": within,
    "a pool": bare,
}


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("what", SENDING)
def test_the_record_is_that_of_a_call_that_is_listened_to(what: str, block: bool, tap: typing.Any) -> None:
    if what in ("a body that asks", "given up", "dropped"):
        block = False  # these would wait for themselves, or for a place that urllib3 has lost
    found = []
    for listener in (None, Silent()):
        timings: list[onewrite.Timing] = []
        silence.clear()
        server = tap(answer)
        onewrite.install(on_timing=timings.append, listener=listener)
        http = urllib3.PoolManager(maxsize=1, block=block, timeout=20)
        try:
            # On a new connection, then twice on whatever the call before has left.
            for _ in range(3):
                with contextlib.suppress(urllib3.exceptions.HTTPError, ValueError):
                    SENDING[what](http, server.url("/"))
                http.request("GET", server.url("/"))
        finally:
            silence.set()
            onewrite.uninstall()
            http.clear()
        urls = [timing.url.replace(str(server.port), "port") for timing in timings]
        found.append((urls, [(gist(timing), timing.to_dict().keys() - {"cause", "kernel"}) for timing in timings]))
    plain, followed = found
    assert plain[0] == followed[0]
    for mine, theirs in zip(plain[1], followed[1], strict=True):
        assert mine == theirs


@pytest.mark.parametrize("through", ["manager", "pool"])
def test_the_usual_call(through: str, recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager()
    for number in range(3):
        if through == "manager":
            http.request("POST", server.url("/a?b=c"), body=b"x" * 200)
        else:
            http.connection_from_url(server.url("/")).urlopen("POST", "/a?b=c", body=b"x" * 200)
        (timing,) = recorded
        recorded.clear()
        assert timing.reused == bool(number)
        assert (timing.method, timing.url, timing.status) == ("POST", server.url("/a?b=c"), 200)
        assert timing.cause in (None, "server")
        assert timing.total_ns >= timing.send_ns + timing.wait_ns
    (attempt,) = timing.attempts
    assert type(timing) is onewrite.Timing
    assert attempt.total_ns == timing.total_ns
    assert attempt.total_ns >= attempt.send_ns + attempt.wait_ns + attempt.receive_ns
    assert attempt.idle_ns
    assert (attempt.conn_requests, attempt.writes, attempt.bytes_received) == (3, 1, 2)
    http.clear()


def test_an_answer_that_takes_its_time(recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    """TCP_INFO is read again when the answer arrives, and the cause is named."""
    slow = threading.Event()

    def later(peer: Peer, seen: Seen) -> None:
        if seen.line.startswith("POST"):
            slow.wait(0.3)
        peer.send(reply())

    server = tap(later)
    http = urllib3.PoolManager()
    for _ in range(5):
        http.request("GET", server.url())
        http.request("POST", server.url(), body=b"x" * 200)
    waits = [timing for timing in recorded if timing.method == "POST"]
    assert all(timing.wait_ns >= 50 * MS for timing in waits)
    assert [timing.cause for timing in waits].count("server") >= 3
    http.clear()


def test_a_call_that_is_given_up(recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    class GivenUp(BaseException):
        pass

    class Body(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise GivenUp

    server = tap()
    http = urllib3.PoolManager()
    http.request("GET", server.url())
    with pytest.raises(GivenUp):
        http.request("POST", server.url(), body=Body(b"x"), headers={"Content-Length": "1"})
    http.request("GET", server.url())
    assert [timing.outcome for timing in recorded] == ["ok", "cancelled", "ok"]
    assert [timing.error_phase for timing in recorded] == [None, "send", None]
    http.clear()


def test_threads_do_not_meet(recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager(maxsize=3)
    failed: list[BaseException] = []

    def send(name: str) -> None:
        try:
            for number in range(40):
                http.request("POST", server.url(f"/{name}-{number}"), body=b"x" * 100)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=send, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(recorded) == 240
    assert len({timing.url for timing in recorded}) == 240
    for timing in recorded:
        (attempt,) = timing.attempts
        assert (timing.outcome, timing.status, attempt.bytes_received) == ("ok", 200, 2)
    counts: dict[typing.Any, list[typing.Any]] = {}
    for timing in recorded:
        counts.setdefault(timing.conn_id, []).append(timing.attempts[0].conn_requests)
    for numbers in counts.values():
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), "each request of a connection was counted once"
    http.clear()
