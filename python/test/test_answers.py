"""Answers, errors and connections are those of urllib3, and each request has a record, whatever the server sends."""

from __future__ import annotations

import gzip
import io
import socket
import time
import typing

import pytest
import urllib3

import onewrite
from tap import Peer, Seen, Tap, listening, reply, until_readable


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
    "100 first, cut anywhere": Parts(b"HTTP/1", b".1 100 Continue\r\n\r", b"\n" + PLAIN[:3], PLAIN[3:]),
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


def outcome(response: typing.Any, streamed: bool) -> tuple[typing.Any, ...]:
    """All that a caller sees of a response."""
    return (
        b"".join(response.stream(7)) if streamed else response.data,
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
    """Answers /odd as given and everything else plainly."""

    def answering(peer: Peer, seen: Seen) -> None:
        if " /odd" in seen.line:
            answer(peer)
        else:
            peer.send(reply())

    made: Tap = tap(answering)
    return made


WAYS = (("POST", False), ("POST", True), ("HEAD", False))


@pytest.mark.parametrize(
    ("kind", "method", "streamed"),
    [
        pytest.param(kind, *way, marks=() if number % len(WAYS) == at else pytest.mark.nightly)
        for number, kind in enumerate(ANSWERS)
        for at, way in enumerate(WAYS)
    ],
)
def test_answers_are_those_of_urllib3(kind: str, method: str, streamed: bool, tap: typing.Any) -> None:
    if method == "HEAD" and kind in ("head and body apart", "body in three", "chunked in two", "no body, in chunks"):
        pytest.skip("what comes behind an answer to HEAD meets the next request or does not, as with urllib3 itself")
    results = {}
    records: list[onewrite.Record] = []
    for way in ("stock", "installed"):
        server = scripted(tap, ANSWERS[kind])
        if way == "installed":
            onewrite.install(on_timing=records.append)
        http = urllib3.PoolManager(retries=False, maxsize=1, timeout=10)
        found: list[typing.Any] = []
        for path in ("/", "/odd", "/", "/odd", "/"):
            odd = path == "/odd"
            try:
                response = http.request(
                    method if odd else "GET", server.url(path), body=b"x" * 200 if odd else None,
                    preload_content=not streamed,
                )  # fmt: skip
                seen: typing.Any = outcome(response, streamed)
                response.release_conn()
            except (urllib3.exceptions.HTTPError, ValueError, OverflowError) as error:
                seen = type(error), type(getattr(error, "reason", None) or (error.args or (None,))[-1])
            found.append([str(one).replace(str(server.port), "port") for one in seen])
            if odd and ANSWERS[kind].close:
                server.wait_until_closed()  # else the next request may still be sent on that connection
            elif odd and method == "HEAD" and kind == "larger than one read":
                until_readable(http, server.url())  # what comes behind the head
        http.clear()
        results[way] = found, server.connections, [one.line for one in server.seen]
    assert results["installed"] == results["stock"]
    assert [record.url for record in records] == [server.url(line.split()[1]) for line in results["stock"][2]]
    odd_one = records[1]
    assert (odd_one.method, odd_one.writes, odd_one.bytes_sent) == (method, 1, len(server.seen[1].head) + 200)
    assert (odd_one.reused, odd_one.conn_requests, bool(odd_one.idle_ns)) == (True, 2, True)
    assert odd_one.send_ns
    assert odd_one.total_ns
    if odd_one.outcome == "ok":
        assert odd_one.wait_ns
        assert odd_one.receive_ns
    else:
        assert odd_one.error_kind in ("closed", "protocol", "reset", "other")


#: Far more than the socket buffers of both sides hold.
LARGE = 30_000_000
LARGE_BODIES: dict[str, typing.Callable[[], dict[str, typing.Any]]] = {
    "bytes": lambda: {"body": b"x" * LARGE},
    "file": lambda: {"body": io.BytesIO(b"x" * LARGE), "headers": {"Content-Length": str(LARGE)}},
    "chunks": lambda: {"body": (b"x" * 1_000_000 for _ in range(LARGE // 1_000_000)), "chunked": True},
}


@pytest.mark.parametrize("kind", LARGE_BODIES)
def test_an_early_answer_is_heard(kind: str, recorded: list[onewrite.Record]) -> None:
    """The server answers the head and closes, which resets the connection: sending fails, the answer is returned."""

    def hasty(sock: socket.socket) -> None:
        Peer(sock, 1, None).until(b"\r\n\r\n")
        sock.sendall(reply(b"too large", "413 Content Too Large", "Connection: close"))
        sock.shutdown(socket.SHUT_WR)  # an end before the reset: EPIPE, which every urllib3 forgives

    listener = listening(hasty)
    http = urllib3.PoolManager(retries=False)
    response = http.request("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", **LARGE_BODIES[kind]())
    assert (response.status, response.data) == (413, b"too large")
    assert [(one.outcome, one.status) for one in recorded] == [("ok", 413)]
    assert (recorded[0].bytes_sent or 0) <= LARGE * 1.01
    assert [name for name, _ in recorded[0].events].index("request_end")
    http.clear()
    listener.close()
