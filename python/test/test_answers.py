"""Answers, errors and connections are those of urllib3, whatever the server sends."""

from __future__ import annotations

import gzip
import http.client
import threading
import time
import typing
from unittest import mock

import pytest
import urllib3
import urllib3.connectionpool

import exchanges as exchanges_at_random
import onewrite
from tap import Peer, Seen, Tap, reply, until


class Parts:
    """Sends *pieces* one after the other, then perhaps closes."""

    def __init__(self, *pieces: bytes, close: bool = False) -> None:
        self.pieces = pieces
        self.close = close

    def __call__(self, peer: Peer) -> None:
        for number, piece in enumerate(self.pieces):
            if number:
                time.sleep(0.003)
            peer.send(piece)
        if self.close:
            raise EOFError


PLAIN = reply(b"hello", "200 OK", "Content-Type: text/plain", "Set-Cookie: a=b", "set-cookie: c=d")
OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "plain": Parts(PLAIN),
    "no body": Parts(reply(b"")),
    "not found": Parts(reply(b"no", "404 Not Found")),
    "server error": Parts(reply(b"no", "500 Oops")),
    "head and body apart": Parts(PLAIN[:-5], PLAIN[-5:]),
    "head in two": Parts(PLAIN[:25], PLAIN[25:]),
    "status line in two": Parts(PLAIN[:9], PLAIN[9:]),
    "one byte first": Parts(PLAIN[:1], PLAIN[1:]),
    "body in three": Parts(PLAIN[:-4], PLAIN[-4:-2], PLAIN[-2:]),
    "larger than one read": Parts(reply(b"x" * 100_000)),
    "chunked": Parts(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    "chunked in two": Parts(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab", b"c\r\n0\r\n\r\n"),
    "compressed": Parts(reply(gzip.compress(b"hello"), "200 OK", "Content-Encoding: gzip")),
    "says close": Parts(reply(b"bye", "200 OK", "Connection: close"), close=True),
    "keep-alive said": Parts(reply(b"on", "200 OK", "Connection: keep-alive", "Keep-Alive: timeout=5")),
    "until the end": Parts(OK + b"\r\nuntil the end", close=True),
    "HTTP/1.0": Parts(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", close=True),
    "no content": Parts(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "not modified": Parts(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "100 first": Parts(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN),
    "100 first, apart": Parts(b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN),
    "100 first, lines without CR": Parts(b"HTTP/1.1 100 Continue\n\n", PLAIN),
    "folded line": Parts(OK + b"A: b\r\n c\r\nContent-Length: 2\r\n\r\nok"),
    "bytes above ASCII": Parts(OK + b"A: \xe4\r\nContent-Length: 2\r\n\r\nok"),
    "two lengths": Parts(OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
    "a length of 5000 digits": Parts(OK + b"Content-Length: " + b"1" * 5000 + b"\r\n\r\nok", close=True),
    "a length of 30 digits": Parts(OK + b"Content-Length: " + b"1" * 30 + b"\r\n\r\nok", close=True),
    "a negative length": Parts(OK + b"Content-Length: -2\r\n\r\nok", close=True),
    "no body, with a length": Parts(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
    "not modified, with a length": Parts(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
    "no body, in chunks": Parts(
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na", b"bc\r\n0\r\n\r\n"
    ),
    "switched": Parts(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "no answer": Parts(close=True),
    "half a head": Parts(PLAIN[:25], close=True),
    "half a body": Parts(PLAIN[:-2], close=True),
    "garbage": Parts(b"what is this\r\n\r\n", close=True),
    "no status": Parts(b"HTTP/1.1 OK\r\n\r\n", close=True),
}


def outcome(send: typing.Callable[[], typing.Any]) -> typing.Any:
    """All that a caller sees."""
    try:
        response = send()
    except (urllib3.exceptions.HTTPError, ValueError, OverflowError) as error:
        return type(error), type(getattr(error, "reason", None) or (error.args or (None,))[-1])
    return (
        response.status,
        response.version,
        getattr(response, "version_string", None),  # not in every version
        response.reason,
        list(response.headers.items()),
        response.data,
        response.read(),
        response.tell(),
        response.isclosed(),
        response.closed,
        response.length_remaining,
        getattr(response, "url", None),
        response.chunked,
        response.connection,
        response.readable(),
        response._original_response.isclosed(),
        response._original_response.msg.items(),
        response._original_response.getheader("content-length"),
        type(response.retries),
    )


def scripted(tap: typing.Any, answer: typing.Callable[[Peer], None]) -> Tap:
    """Answers /odd as told and everything else plainly."""

    def answering(peer: Peer, seen: Seen) -> None:
        if " /odd" in seen.line:
            answer(peer)
        else:
            peer.send(reply())

    made: Tap = tap(answering)
    return made


@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_are_those_of_urllib3(kind: str, method: str, tap: typing.Any) -> None:
    """Of own classes and under install(), with a timeout and without."""
    if method == "HEAD" and kind in ("head and body apart", "body in three", "chunked in two", "no body, in chunks"):
        pytest.skip("what comes behind an answer to HEAD meets the next request or does not, as with urllib3 itself")
    body = b"x" * 200 if method == "POST" else None
    results = []
    for how in ("stock", "own", "own without a timeout", "installed", "installed without a timeout"):
        server = scripted(tap, ANSWERS[kind])
        if "installed" in how:
            onewrite.install()
        timeout = None if "without" in how else 10
        make = onewrite.PoolManager if "own" in how else urllib3.PoolManager
        http = make(retries=False, maxsize=1, timeout=timeout)
        found: list[typing.Any] = []
        try:
            for path in ("/", "/odd", "/", "/odd", "/"):
                url = f"http://127.0.0.1:{server.port}{path}"
                asked = method if "odd" in url else "GET"
                seen = outcome(lambda url=url, http=http, asked=asked: http.request(asked, url, body=body))
                found.append([str(one).replace(str(server.port), "port") for one in seen])
                if "odd" in url and ANSWERS[kind].close:
                    server.wait_until_closed()  # else the next request may still be sent on that connection
                elif asked == "HEAD" and kind == "larger than one read":
                    exchanges_at_random.until_readable(http, url)  # what comes behind the head
        finally:
            onewrite.uninstall()
        results.append((how, found, server.connections, [one.line for one in server.seen]))
        http.clear()
    for how, *found in results[1:]:
        assert found == list(results[0][1:]), how


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_record_is_whole_whatever_comes(kind: str, tap: typing.Any) -> None:
    server = scripted(tap, ANSWERS[kind])
    timings: list[onewrite.Timing] = []
    events: list[str] = []

    class Listener(onewrite.TimingListener):
        def on_event(self, event: onewrite.Event) -> None:
            events.append(event.name)

    for listener in (None, Listener()):
        http = onewrite.PoolManager(
            retries=False, maxsize=1, block=True, timeout=10, on_timing=timings.append, listener=listener
        )
        http.request("GET", server.url("/"))
        timings.clear()
        events.clear()
        seen = outcome(lambda http=http: http.request("POST", server.url("/odd"), body=b"x" * 200))
        assert len(timings) == 1
        (timing,) = timings
        assert len(timing.attempts) == 1
        (attempt,) = timing.attempts
        assert (timing.url, timing.method) == (server.url("/odd"), "POST")
        assert attempt.reused
        assert attempt.conn_requests == 2
        assert attempt.idle_ns
        assert attempt.writes == 1
        assert attempt.bytes_sent == len(server.seen[-1].head) + 200
        assert attempt.send_ns
        assert attempt.total_ns
        if isinstance(seen[0], int):
            assert (timing.outcome, timing.status) == ("ok", seen[0])
            assert attempt.wait_ns
            assert attempt.receive_ns
        else:
            assert timing.outcome == "error"
            assert timing.error_kind in ("closed", "protocol", "reset", "other")
        if listener is not None:
            assert events[:4] == ["call_start", "attempt_start", "connection_acquired", "request_start"]
            assert events[-1] == "call_end"
            assert len(events) == len(set(events) - {"informational"}) + events.count("informational")
        http.clear()


INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"


@pytest.mark.filterwarnings("ignore")  # urllib3's, of sockets that it leaves to the collector
@pytest.mark.timeout(600)
def test_whole_exchanges_at_random() -> None:
    """``make fuzz`` compares many more."""
    exchanges_at_random.run(200, seed=1)


def test_lengths_that_differ(tap: typing.Any) -> None:
    """Not among the others, because urllib3 leaves the socket of such an answer to the collector."""
    server = scripted(tap, Parts(OK + b"Content-Length: 2, 3\r\n\r\nok"))
    http = onewrite.PoolManager(retries=False, maxsize=1, block=True)
    for _ in range(2):
        http.request("GET", server.url())
        with pytest.raises(urllib3.exceptions.InvalidHeader):
            http.request("POST", server.url("/odd"), body=b"x")
    http.clear()


def test_retries_and_redirects_are_urllib3s(tap: typing.Any) -> None:
    def answering(peer: Peer, seen: Seen) -> None:
        path = seen.line.split()[1]
        answers = {
            "/busy": reply(b"", "503 Busy", "Retry-After: 0"),
            "/moved": reply(b"", "302 Found", "Location: /there"),
            "/see": reply(b"", "303 See Other", "Location: /there"),
            "/same": reply(b"", "307 Temporary Redirect", "Location: /there"),
        }
        peer.send(answers.get(path, reply()))

    lines = []
    for make in (urllib3.PoolManager, onewrite.PoolManager):
        server = tap(answering)
        http = make()
        http.request("GET", server.url("/"))
        for path in ("/moved", "/see", "/same"):
            response = http.request("POST", server.url(path), body=b"x")
            assert response.status == 200
            assert response.retries.history[-1].redirect_location == "/there"
        assert http.request("POST", server.url("/moved"), body=b"x", redirect=False).status == 302
        pool = http.connection_from_url(server.url())
        assert pool.request("POST", "/moved", body=b"x", redirect=False).status == 302
        assert http.request("GET", server.url("/busy"), retries=2).retries.total == 0
        retries = urllib3.Retry(2, status_forcelist=[503], allowed_methods=None, raise_on_status=False)
        assert http.request("POST", server.url("/busy"), body=b"x", retries=retries).status == 503
        lines.append([one.line for one in server.seen])
        http.clear()
    assert lines[0] == lines[1]


def test_a_connection_that_the_server_has_closed_is_replaced(tap: typing.Any) -> None:
    closing = threading.Event()

    def once(peer: Peer, seen: Seen) -> None:
        peer.send(reply())
        if not closing.is_set():
            closing.set()
            raise EOFError

    server = tap(once)
    http = onewrite.PoolManager(maxsize=1, block=True, retries=False)
    http.request("GET", server.url())
    conn = http.connection_from_url(server.url()).pool.queue[-1]
    until(lambda: urllib3.util.connection.is_connection_dropped(conn))
    assert http.request("POST", server.url(), body=b"x").status == 200
    assert server.connections == 2


def test_read_timeouts_are_those_of_urllib3(tap: typing.Any) -> None:
    server = tap(lambda peer, seen: time.sleep(1) if "/slow" in seen.line else peer.send(reply()))
    for make in (urllib3.PoolManager, onewrite.PoolManager):
        http = make(retries=False, maxsize=1, block=True)
        for timeout in (0.1, urllib3.Timeout(read=0.1), urllib3.Timeout(total=0.1)):
            http.request("GET", server.url())
            with pytest.raises(urllib3.exceptions.ReadTimeoutError):
                http.request("POST", server.url("/slow"), body=b"x", timeout=timeout)
        with_default = make(retries=False, timeout=urllib3.Timeout(connect=5, read=0.1))
        with_default.request("GET", server.url(), timeout=20)
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            with_default.request("POST", server.url("/slow"), body=b"x")


def test_whoever_replaces_a_method_sees_the_request(tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the class or on a subclass, as tracers and mocks do."""
    server = tap()
    seen: list[str] = []
    pool_class = urllib3.connectionpool.HTTPConnectionPool

    def watch(owner: typing.Any, name: str) -> None:
        original = getattr(owner, name)

        def watched(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            seen.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    for owner, name in (
        (pool_class, "urlopen"),
        (pool_class, "_make_request"),
        (urllib3.PoolManager, "urlopen"),
        (http.client.HTTPConnection, "putrequest"),
        (http.client.HTTPConnection, "getresponse"),
    ):
        manager = onewrite.PoolManager()
        manager.request("GET", server.url())
        with monkeypatch.context():
            watch(owner, name)
            seen.clear()
            manager.request("POST", server.url(), body=b"x")
            assert name in seen
        monkeypatch.undo()
        manager.clear()


def test_a_subclass_of_a_pool_keeps_its_own_way(tap: typing.Any) -> None:
    server = tap()
    made: list[str] = []

    class Pool(onewrite.HTTPConnectionPool):
        def _make_request(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            made.append(args[1])
            return super()._make_request(*args, **kwargs)

    pool = Pool("127.0.0.1", server.port)
    for _ in range(3):
        pool.request("POST", "/", body=b"x")
    assert made == ["POST"] * 3
    pool.close()


def test_a_subclass_of_a_connection_keeps_its_own_response(tap: typing.Any) -> None:
    server = tap()
    made: list[int] = []

    class Response(http.client.HTTPResponse):
        def begin(self) -> None:
            super().begin()
            made.append(self.status)

    class Connection(onewrite.HTTPConnection):
        response_class = Response

    class Pool(onewrite.HTTPConnectionPool):
        ConnectionCls = Connection

    pool, mocked = Pool("127.0.0.1", server.port), onewrite.HTTPConnectionPool("127.0.0.1", server.port)
    for _ in range(3):
        pool.request("POST", "/", body=b"x")
        mocked.request("POST", "/", body=b"x")
    assert made == [200] * 3
    asked: list[str] = []  # a mock on the object, as tests of others have it
    below = mocked._make_request
    mocked._make_request = lambda *args, **kwargs: (asked.append(args[1]), below(*args, **kwargs))[1]
    mocked.request("POST", "/", body=b"x")
    assert asked == ["POST"]
    pool.close()
    mocked.close()


@pytest.mark.parametrize("how", ["own", "installed"])
def test_a_mock_of_a_connection_gets_urllib3s_calls(how: str) -> None:
    if how == "installed":
        onewrite.install()
    module = onewrite if how == "own" else urllib3
    conn = mock.Mock(spec=urllib3.connection.HTTPConnection)
    with module.HTTPConnectionPool("localhost") as pool:
        answer = pool._make_request(conn, "POST", "/", body=b"x", response_conn=conn)
    assert [name for name, *_ in conn.method_calls] == ["request", "getresponse"]
    assert answer is conn.getresponse.return_value


def test_a_request_in_on_timing_is_a_call_of_its_own(tap: typing.Any) -> None:
    server = tap()
    timings: list[onewrite.Timing] = []

    def on_timing(timing: onewrite.Timing) -> None:
        timings.append(timing)
        if len(timings) == 2:
            assert http.request("GET", server.url("/inner")).data == b"ok"

    http = onewrite.PoolManager(on_timing=on_timing)
    http.request("GET", server.url("/first"))
    http.request("GET", server.url("/outer"))
    # A hook is not called for a request that it makes: else one that ships each record would never end.
    assert [one.url.rpartition("/")[2] for one in timings] == ["first", "outer"]


def test_kernel_evidence(tap: typing.Any) -> None:
    from onewrite._timing import kernel as _kernel

    if not _kernel.AVAILABLE:
        pytest.skip("no TCP_INFO here")
    pause = 0.003
    server = tap(lambda peer, seen: (time.sleep(pause), peer.send(reply()))[1])
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    for _ in range(21):
        http.request("POST", server.url(), body=b"x" * 200)
    counts = [one.kernel.segments_out for one in timings]
    assert sorted(counts)[10] == 1
    assert all(one.kernel.rtt_us for one in timings)
    assert all(0 <= one.kernel.send_hold_ns <= one.wait_ns for one in timings)

    # An answer that comes at once has none: nothing can have been held or sent again.
    pause, before = 0, len(timings)
    for _ in range(200):
        http.request("POST", server.url(), body=b"x" * 200)
    quick = [one for one in timings[before:] if one.wait_ns + one.send_ns < 900_000]
    assert quick
    assert not any(one.kernel for one in quick)
    pause = 0.003
    http.request("POST", server.url(), body=b"x" * 200)
    late = timings[-1]
    assert late.kernel.retransmits == 0
    assert late.kernel.segments_out in (None, 1)
