"""Random requests over httpx, blocking and asynchronous: bytes, answers and errors are those of stock."""

from __future__ import annotations

import io
import random
import socket
import typing

import exchanges
from httpx_clients import LIBRARIES, RUNTIMES, Clients
from tap import Peer, Seen, Tap

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
    answer: exchanges.Case


def case(source: random.Random) -> Case:
    return Case(
        source.choice(LIBRARIES),
        source.choice(RUNTIMES),
        source.choice(("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")),
        source.choice(list(BODIES)),
        source.randrange(1 << 30),
        source.sample(FIELDS, source.choice((0, 0, 0, 1, 2))),
        exchanges.case(source),
    )


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
    """Compare *count* requests by own transports and under install() with stock."""
    source = random.Random(seed)
    current: dict[str, typing.Any] = {}
    answer = exchanges.answering(current)

    def noted(peer: Peer, seen: Seen) -> None:
        if "/odd" in seen.line:
            current["seen"].append((seen.head, seen.raw))
        answer(peer, seen)

    with Tap(noted) as server:
        for number in range(count):
            one = case(source)

            def outcome(how: str, one: Case = one) -> typing.Any:
                current.update(pieces=one.answer.pieces(), reset=one.answer.reset, seen=[])
                found = _outcome(Clients(one.library, one.runtime, how), server.url("/odd"), one)
                # The server has accepted what came before this, and then seen the end of it.
                with socket.create_connection(("127.0.0.1", server.port)) as last:
                    last.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    assert last.recv(1)
                server.wait_until_closed()
                return found, current["seen"]

            exchanges.compare(one, outcome, f"seed {seed}, case {number}", one.answer.reset)
