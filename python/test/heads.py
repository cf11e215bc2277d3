"""Response heads for differential tests: mostly well-formed, one or two faults put in."""

from __future__ import annotations

import http.client
import io
import random
import typing

from onewrite._urllib3 import head as heads

NAMES = [
    b"Content-Length",
    b"content-length",
    b"Transfer-Encoding",
    b"Connection",
    b"Keep-Alive",
    b"Set-Cookie",
    b"X-A",
    b"Proxy-Connection",
    b"Server",
    b"Date",
    b"a!#$%&'*+-.^_`|~9",
    b"Content-Type",
]
VALUES = [
    b"0",
    b"2",
    b"10",
    b"+5",
    b"-1",
    b"5x",
    b"1" * 5000,
    b"9" * 30,
    b"1_0",
    b"",
    b"chunked",
    b"Chunked",
    b"gzip, chunked",
    b"close",
    b"keep-alive",
    b"a=b; Path=/",
    b"text/plain; charset=utf-8",
    b"tab\there",
    b"trailing  ",
    b"1 2",
    b"close, x",
    b"\xe4",
]
STATUS = [
    b"HTTP/1.1 200 OK",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 204 No Content",
    b"HTTP/1.1 304 ",
    b"HTTP/1.1 200",
    b"HTTP/1.1 101 Switching",
    b"HTTP/1.1 500 \xe4",
    b"HTTP/1.1  200 OK",
    b"HTTP/1.1 099 X",
    b"HTTP/1.1 200 OK ",
    b"HTTP/2 200 OK",
    b"HTTP/1.2 200 OK",
    b"http/1.1 200 OK",
    b"HTTP/1.1 2000 OK",
    b"ICY 200 OK",
]
BREAKS = [b"\r\n"] * 12 + [b"\n", b"\r", b"\r\n ", b"\r\n\t", b"\r\r\n", b"\n\r\n"]
COLONS = [b": "] * 12 + [b":", b" : ", b":  ", b":\t", b"", b": \t "]
BYTES = bytes(range(256))


def one(random: random.Random) -> bytes:
    """A random head, often a malformed one."""
    if random.random() < 0.3:
        fields = [random.choice(NAMES) + b": " + random.choice(VALUES) for _ in range(random.randrange(6))]
        return b"\r\n".join([random.choice(STATUS[:5]), *fields, b"", b"body"])
    lines = [random.choice(STATUS)]
    lines += [
        random.choice(NAMES) + random.choice(COLONS) + random.choice(VALUES) for _ in range(random.randrange(6))
    ]
    data = b"".join(line + random.choice(BREAKS) for line in lines) + b"\r\n"
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        at = random.randrange(len(data))
        kind = random.randrange(3)
        byte = BYTES[random.randrange(256) :][:1]
        data = data[:at] + (b"" if kind == 0 else byte) + data[at + (kind != 1) :]
    return data + random.choice((b"", b"body", b"HTTP/1.1 200 OK\r\n\r\n"))


class Socket:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self.data))  # type: ignore[arg-type]


def looked_at(response: http.client.HTTPResponse, left: bytes | None) -> tuple[typing.Any, ...]:
    """Every attribute that urllib3 reads, and the bytes left unread."""
    return (
        response.version,
        response.status,
        response.reason,
        response.msg.items(),
        response.chunked,
        response.will_close,
        response.length,
        left,
        response.headers.get_all("set-cookie"),
        response.msg.get_payload(),
        [type(one).__name__ for one in response.msg.defects],
    )


def standard(data: bytes, method: str) -> typing.Any:
    """What http.client makes of *data*."""
    response = http.client.HTTPResponse(Socket(data), method=method)  # type: ignore[arg-type]
    file = response.fp
    try:
        response.begin()
    except (http.client.HTTPException, ConnectionError, ValueError) as error:
        return type(error).__name__, str(error)
    return looked_at(response, None if response.fp is None else file.read())


def same(data: bytes, method: str) -> bool:
    """Whether onewrite parses *data*. If it does, the result must equal http.client's."""
    answer = heads.read(data, method)
    if answer is None:
        return False
    ours = looked_at(answer.response, data[answer.end :])
    theirs = standard(data, method)
    assert ours == theirs, f"{data!r} ({method}): {ours} against {theirs}"
    return True


def run(count: int, seed: int) -> tuple[int, int]:
    """Compare *count* heads; return *count* and how many of them onewrite parses."""
    source = random.Random(seed)
    short = sum(same(one(source), source.choice(("GET", "POST", "HEAD"))) for _ in range(count))
    return count, short
