"""The request parser: good requests in any pieces, and the name of every fault."""

from __future__ import annotations

import pytest

from onewrite_lab.tap.http1 import RequestParser

CHUNKED = (
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n"
)
LENGTH = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"


def parse(data: bytes, step: int) -> RequestParser:
    parser = RequestParser()
    rest = b""
    for at in range(0, len(data), step):
        rest += parser.feed(data[at : at + step])
    assert rest == b""
    return parser


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_any_pieces(step: int) -> None:
    chunked, length = parse(CHUNKED, step), parse(LENGTH, step)
    assert chunked.done
    assert bytes(chunked.request.body) == b"abc0123456789"
    assert chunked.request.chunks == [3, 10]
    assert chunked.request.wire == CHUNKED
    assert length.done
    assert length.request.wire == LENGTH
    assert chunked.request.problems == length.request.problems == []


def test_what_follows_is_given_back() -> None:
    assert RequestParser().feed(LENGTH + b"GET") == b"GET"
    assert RequestParser().feed(CHUNKED + b"GET") == b"GET"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", "together"),
        (b"Content-Length: 5\r\nContent-Length: 5", "2 Content-Length"),
        (b"Content-Length: +5", "not a number"),
        (b"Transfer-Encoding: gzip, chunked", "Transfer-Encoding is"),
        (b"Host: b", "2 Host"),
        (b"A\x00: b", "no valid name"),
        (b" folded: b", "no valid name"),
        (b"A: b\x01c", "control character"),
        (b"A: b\nInjected: c", "control character"),
        (b"no colon", "no valid name"),
    ],
)
def test_faults_are_named(line: bytes, said: str) -> None:
    parser = RequestParser()
    parser.feed(b"POST / HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n\r\n")
    assert any(said in problem for problem in parser.request.problems), parser.request.problems


@pytest.mark.parametrize("first", [b"POST  / HTTP/1.1", b"P ST / HTTP/1.1", b"POST / HTTP/2.0", b"POST /\x7f HTTP/1.1"])
def test_request_lines(first: bytes) -> None:
    parser = RequestParser()
    parser.feed(first + b"\r\nHost: a\r\n\r\n")
    assert parser.request.problems


def test_bad_chunks() -> None:
    for body in (b"x\r\n", b"-1\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n", bytes((1 << 20) + 1)):
        parser = RequestParser()
        parser.feed(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        assert parser.request.problems, body
