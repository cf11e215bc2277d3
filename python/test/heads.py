"""Response heads for differential tests: mostly well-formed, one or two faults put in."""

from __future__ import annotations

import random

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
    lines += [random.choice(NAMES) + random.choice(COLONS) + random.choice(VALUES) for _ in range(random.randrange(6))]
    data = b"".join(line + random.choice(BREAKS) for line in lines) + b"\r\n"
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        at = random.randrange(len(data))
        kind = random.randrange(3)
        byte = BYTES[random.randrange(256) :][:1]
        data = data[:at] + (b"" if kind == 0 else byte) + data[at + (kind != 1) :]
    return data + random.choice((b"", b"body", b"HTTP/1.1 200 OK\r\n\r\n"))
