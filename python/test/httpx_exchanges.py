"""Random exchanges over httpx and httpx2, blocking and asynchronous: bytes, answers and errors are those of stock.

``python test/httpx_exchanges.py COUNT [SEED]``. The judge plays random exchanges with urllib3 and blocking httpx.
"""

from __future__ import annotations

import io
import itertools
import random
import socket
import struct
import sys
import time
import typing

from httpx_clients import LIBRARIES, RUNTIMES, Clients
from tap import Peer, Seen, Tap, reply

BODIES: dict[str, typing.Callable[[random.Random], dict[str, typing.Any]]] = {
    "none": lambda source: {},
    "bytes": lambda source: {"content": b"x" * source.choice((0, 1, 200, 16_300, 16_384, 60_000))},
    "text": lambda source: {"content": "é" * source.choice((0, 1, 9000))},
    "json": lambda source: {"json": {"a": "b" * source.choice((0, 200))}},
    "form": lambda source: {"data": {"a": source.choice(("", "b", ["c", ""]))}},
    "files": lambda source: {"files": {"f": source.choice((b"", b"0\r\n\r\n", b"x" * 40_000)), "g": io.BytesIO(b"y")}},
    "both": lambda source: {"data": {"a": ""}, "files": [("f", ("name", io.BytesIO(b"z" * 300), "text/plain"))]},
    "file": lambda source: {"content": io.BytesIO(b"f" * source.choice((0, 300, 70_000)))},
    "list": lambda source: {"content": source.choice(([], [b""], [b"a", b"", b"0\r\n\r\n"], [b"b" * 20_000] * 2))},
    "iterator": lambda source: {"content": Parts([b"a", b"", b"b" * source.choice((1, 20_000))])},
}
FIELDS = (
    ("Expect", "100-continue"), ("X-Long", "y" * 17_000), ("Content-Length", "3"), ("Transfer-Encoding", "chunked"),
    ("Connection", "close"), ("X-Odd", "a\tb"), ("X-Bad", "a\nb"), ("Accept-Encoding", "gzip"), ("content-length", "0"),
)  # fmt: skip
INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    b"HTTP/1.1 199 \r\nA: b\r\n\r\n",
)
SIZES = (b"0", b"1" * 5000, b"9" * 30, b"-1", b"0x2", b"+2", b" 2 ", b"2, 3", str(2**63).encode())
CHUNK_SIZES = (b"f" * 17, b"-1", b"8" + b"0" * 15, b"zz", b"2;a=b")
PIECES = (b"\n", b"\r", b"\t", b":", b"\r\n ", b"\xe4", b"\0", b"Content-Length: 6\r\n", b"Transfer-Encoding: gzip\r\n")
LIMIT = 5.0


class Parts:
    """Pieces that code of the caller makes, for both kinds of clients."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def __iter__(self) -> typing.Iterator[bytes]:
        yield from self.pieces

    async def __aiter__(self) -> typing.AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


class Case(typing.NamedTuple):
    """A request, and what the server does."""

    library: str
    runtime: str
    method: str
    body: str
    seed: int
    fields: list[tuple[str, str]]
    #: What the server sends, in pieces, before it closes or resets the connection.
    answer: list[bytes]
    reset: bool


def case(source: random.Random) -> Case:
    data = b"".join(source.choices(INTERIM, k=source.choice((0, 0, 0, 1, 2)))) + _answer(source)
    reset = source.random() < 0.2
    if reset:
        data = data[: source.choice((0, source.randrange(len(data) + 1), len(data)))]
    cuts = {source.randrange(len(data) + 1) for _ in range(source.choice((0, 0, 1, 2)))}
    return Case(
        source.choice(LIBRARIES),
        source.choice(RUNTIMES),
        source.choice(("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD")),
        source.choice(list(BODIES)),
        source.randrange(1 << 30),
        source.sample(FIELDS, source.choice((0, 0, 0, 1, 2))),
        [data[start:end] for start, end in itertools.pairwise(sorted({0, *cuts, len(data)}))],
        reset,
    )


def _answer(source: random.Random) -> bytes:
    body = bytes(source.choices(b"ab\r\n0HTP/", k=source.choice((0, 1, 2, 5, 200))))
    fields = [b"Content-Type: text/plain"]
    kind = source.randrange(6)
    if kind == 0:
        fields.append(b"Transfer-Encoding: " + source.choice((b"chunked", b"Chunked", b"gzip, chunked", b"x")))
        size = source.choice((b"%x" % len(body), *CHUNK_SIZES))
        body = size + b"\r\n" + body + b"\r\n0\r\n\r\n"
    elif kind == 1:
        fields.append(b"Content-Length: " + source.choice(SIZES))
    elif kind > 2:
        fields.append(b"Content-Length: %d" % (len(body) + source.choice((0, 0, 0, 0, 1, -1 if body else 0))))
    if source.random() < 0.2:
        fields.append(b"Connection: " + source.choice((b"close", b"keep-alive", b"Close, x")))
    source.shuffle(fields)
    status = source.choice((200, 200, 200, 204, 206, 304, 404, 500, 599, 999, 101))
    version = source.choice((b"1.1", b"1.1", b"1.1", b"1.0"))
    data = b"HTTP/%b %d Some Reason\r\n%b\r\n\r\n%b" % (version, status, b"\r\n".join(fields), body)
    if source.random() < 0.2:  # a head that is none
        at = source.randrange(len(data) + 1)
        data = data[:at] + source.choice(PIECES) + data[at + source.choice((0, 1, 2)) :]
    return data


def _outcome(clients: Clients, url: str, one: Case) -> typing.Any:
    def call(http: typing.Any) -> typing.Any:
        body = BODIES[one.body](random.Random(one.seed))
        if "files" in body:
            body["headers"] = [("Content-Type", "multipart/form-data; boundary=b"), *one.fields]
        return http.request(one.method, url, **{"headers": one.fields, **body}, timeout=LIMIT)

    hooks = {"on_timing": str} if one.seed % 2 else {}
    try:
        response = clients.run(call, ca=False, hooks=hooks)
    except Exception as error:
        return type(error).__name__, str(error)
    return response.status_code, response.http_version, response.headers.raw, response.content, response.is_closed


def run(count: int, seed: int) -> None:
    """Compare *count* requests by own transports and under install() with stock.

    After a reset the outcome depends on timing, with stock as well: sets of outcomes are compared.
    """
    source = random.Random(seed)
    current: dict[str, typing.Any] = {}

    def answer(peer: Peer, seen: Seen) -> None:
        if "/odd" not in seen.line:
            peer.send(reply())
            return
        current["seen"].append((seen.head, seen.raw))
        try:
            for number, piece in enumerate(current["answer"]):
                if number:
                    time.sleep(0.002)
                peer.send(piece)
        finally:
            if current["reset"]:
                peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sock.close()
        raise EOFError

    def outcome(server: Tap, one: Case, how: str) -> str:
        current.update(answer=one.answer, reset=one.reset, seen=[])
        found = _outcome(Clients(one.library, one.runtime, how), server.url("/odd"), one)
        # The server has accepted what came before this, and then seen the end of it.
        with socket.create_connection(("127.0.0.1", server.port)) as last:
            last.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert last.recv(1)
        server.wait_until_closed()
        return repr((found, current["seen"]))

    with Tap(answer) as server:
        for number in range(count):
            one = case(source)
            wanted = {outcome(server, one, "stock") for _ in range(3 if one.reset else 1)}
            for how in ("own", "installed"):
                found = outcome(server, one, how)
                for _ in range(100 if one.reset else 0):
                    if found in wanted:
                        break
                    wanted.add(outcome(server, one, "stock"))
                assert found in wanted, f"seed {seed}, case {number}, {how}: {one}\n{found}\nand not\n{wanted}"


if __name__ == "__main__":
    run(int(sys.argv[1]), int((*sys.argv[2:], "1")[0]))
