"""The reader of responses: interim ones, each framing, and what is no whole response."""

from __future__ import annotations

import socket
import time

import pytest

from onewrite_cli.common.response import BadResponse, NotHttp, Response, read_response

HEAD = b"HTTP/1.1 200 OK\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
BODY = b"Content-Length: 3\r\n\r\nok\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"


def read(*pieces: bytes, method: str = "GET", ends: bool = True) -> Response:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for piece in pieces:
            theirs.sendall(piece)
        if ends:
            theirs.close()
        return read_response(ours, method, time.monotonic() + 0.2)


@pytest.mark.parametrize(
    ("pieces", "status", "size", "keep_alive"),
    [
        ((HEAD, BODY), 200, 3, True),
        ((EARLY, EARLY.replace(b"103", b"100") + HEAD, BODY), 200, 3, True),
        ((HEAD, CHUNKS, b"3;a=b\r\nok\n\r\n0\r\nX: y\r\n\r\n"), 200, 3, True),
        ((HEAD, b"Connection: close\r\n", BODY), 200, 3, False),
        ((HEAD, b"\r\nuntil the end"), 200, 13, False),
        ((b"HTTP/1.0 200 OK\r\n", BODY), 200, 3, False),
        ((b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",), 304, 0, True),
    ],
)
def test_each_framing_is_read(pieces: tuple[bytes, ...], status: int, size: int, keep_alive: bool) -> None:
    response = read(*pieces)
    assert (response.status, response.body[0], response.keep_alive) == (status, size, keep_alive)
    assert response.tail_ns >= 0


@pytest.mark.parametrize(
    "pieces",
    [(), (EARLY,), (HEAD, b"Content-Length: 4\r\n\r\nok\n"), (HEAD, CHUNKS, b"9\r\nok\n"), (HEAD, CHUNKS, b"zz\r\nok\n")],
)
def test_what_is_not_whole_is_bad(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(BadResponse):
        read(*pieces)


@pytest.mark.parametrize("start", [b"220 mail.example\r\n", b"SSH-2.0", b"\x15\x03\x01\x00\x02", b"HTTP/2.0 200\r\n\r\n"])
def test_what_is_not_http_is_known_by_its_first_bytes(start: bytes) -> None:
    with pytest.raises(NotHttp, match=r"not an HTTP/1\.1 response"):
        read(start, ends=False)


@pytest.mark.parametrize(("piece", "words"), [(b"", "no byte of an answer"), (HEAD, "the answer began")])
def test_what_comes_too_late_is_named(piece: bytes, words: str) -> None:
    with pytest.raises(TimeoutError, match=words):
        read(piece, ends=False)
