"""Random exchanges for differential tests: odd framing, cut into pieces anywhere, ended by a reset.

After a reset the outcome depends on timing, with stock as well: sets of outcomes are compared.
"""

from __future__ import annotations

import io
import itertools
import random
import select
import socket
import struct
import threading
import time
import typing

import urllib3

import heads
import onewrite
from tap import Answer, Peer, Seen, Tap, reply

HUGE = (b"1" * 5000, b"9" * 30, b"-1", b"0x2", b"1_0", b"+2", b" 2 ", b"2, 2", b"2, 3", str(2**63).encode(), b"00002")
STATUS = (200, 200, 200, 204, 206, 304, 404, 500, 599, 999)
INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    b"HTTP/1.1 102 Processing\r\n\r\n",
    b"HTTP/1.1 199 \r\nA: b\r\n\r\n",
)


class Case(typing.NamedTuple):
    """What the server sends after a request, and how the client reads it."""

    method: str
    interim: bytes
    answer: bytes
    cuts: tuple[int, ...]
    preload: bool
    timeout: float | None
    reset: bool
    body: str

    def pieces(self) -> list[bytes]:
        """The pieces that the server sends."""
        data = self.interim + self.answer
        marks = [0, *sorted(cut for cut in self.cuts if 0 < cut < len(data)), len(data)]
        return [data[start:end] for start, end in itertools.pairwise(marks)]


def _framed(source: random.Random) -> bytes:
    body = bytes(source.choices(b"ab\r\n0HTP/", k=source.choice((0, 1, 2, 5, 200))))
    status = source.choice(STATUS)
    fields = [b"Content-Type: text/plain"]
    kind = source.randrange(6)
    if kind == 0:
        size = source.choice((b"%x" % len(body), b"f" * 17, b"-1", b"8" + b"0" * 15, b"zz", b"%x;a=b" % len(body)))
        fields.append(b"Transfer-Encoding: " + source.choice((b"chunked", b"Chunked", b"gzip, chunked", b"x")))
        body = size + b"\r\n" + body + b"\r\n0\r\n\r\n"
    elif kind == 1:
        fields.append(b"Content-Length: " + source.choice(HUGE))
    elif kind > 2:
        fields.append(b"Content-Length: %d" % (len(body) + source.choice((0, 0, 0, 0, 1, -1 if body else 0))))
    if source.random() < 0.2:
        fields.append(b"Connection: " + source.choice((b"close", b"keep-alive", b"Close, x")))
    source.shuffle(fields)
    version = source.choice((b"1.1", b"1.1", b"1.1", b"1.0"))
    return b"HTTP/%b %d Some Reason\r\n%b\r\n\r\n%b" % (version, status, b"\r\n".join(fields), body)


BODIES: dict[str, typing.Callable[[], typing.Any]] = {
    "none": lambda: None,
    "bytes": lambda: b"x" * 20,
    "large": lambda: bytearray(b"x" * 40_000),
    "list": lambda: [b"x" * 9, "y", b""],
    "file": lambda: io.BytesIO(b"x" * 300),
    "generator": lambda: iter((b"x" * 10, b"y" * 10)),
}
if urllib3.__version__.startswith("1."):  # it frames no others
    BODIES = {name: BODIES[name] for name in ("none", "bytes", "large")}


def case(source: random.Random) -> Case:
    """A random answer."""
    answer = _framed(source) if source.random() < 0.8 else heads.one(source)
    interim = b"".join(source.choices(INTERIM, k=source.choice((0, 0, 0, 1, 2))))
    if answer[:8] == b"HTTP/1.1" and answer[9:10] == b"1":
        interim = b""
    cuts = tuple(source.randrange(len(interim) + len(answer) + 1) for _ in range(source.choice((0, 0, 1, 2))))
    method = source.choice(("GET", "POST", "HEAD", "PUT"))
    preload, timeout = source.random() < 0.7, source.choice((None, 20))
    reset = source.random() < 0.2
    if reset:
        answer = answer[: source.choice((0, source.randrange(len(answer) + 1), len(answer)))]
    body = "none" if method == "GET" else source.choice(list(BODIES))
    return Case(method, interim, answer, cuts, preload, timeout, reset, body)


def _outcome(http: typing.Any, url: str, one: Case) -> typing.Any:
    try:
        response = http.request(
            one.method,
            url,
            body=BODIES[one.body](),
            preload_content=one.preload,
            timeout=one.timeout,
        )
        data = response.data if one.preload else b"".join(response.stream(7))
        response.release_conn()
    except Exception as error:
        inner = getattr(error, "reason", None) or (error.args or (None,))[-1]
        return type(error).__name__, type(inner).__name__
    return (
        response.status,
        response.version,
        response.reason,
        list(response.headers.items()),
        data,
        response.length_remaining,
        response.tell(),
        response._original_response.isclosed(),
        response._original_response.will_close,
    )


def until_readable(http: typing.Any, url: str) -> None:
    """Wait until something, or the end, has come on the idle connection to *url*, if there is one."""
    socks = [conn.sock for conn in http.connection_from_url(url).pool.queue if conn is not None and conn.sock]
    assert all(select.select([sock], [], [], 20)[0] for sock in socks)


def seen_of(how: str, one: Case, server: Tap, current: dict[str, typing.Any]) -> list[typing.Any]:
    """What a caller sees of the exchange, and of a plain one on the same pool after it."""
    current["pieces"], current["reset"] = one.pieces(), one.reset
    sent = current["sent"] = threading.Event()
    if how == "installed":
        onewrite.install(on_timing=str)
    http = (onewrite if how == "own" else urllib3).PoolManager(retries=False, maxsize=1)
    try:
        warm = http.request("GET", server.url("/"), timeout=20).data
        found = _outcome(http, server.url("/odd"), one)
        assert sent.wait(20)
        until_readable(http, server.url("/"))  # the server has closed
        return [warm, found, http.request("GET", server.url("/"), timeout=20).data]
    finally:
        onewrite.uninstall()
        http.clear()


def answering(current: dict[str, typing.Any]) -> Answer:
    """A server that sends *current*'s pieces to a request for /odd, and then closes or resets the connection."""

    def answer(peer: Peer, seen: Seen) -> None:
        if " /odd" not in seen.line:
            peer.send(reply())
            return
        try:
            for number, piece in enumerate(current["pieces"]):
                if number:
                    time.sleep(0.002)
                peer.send(piece)
        finally:
            if current["reset"]:
                peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sock.close()
            if "sent" in current:
                current["sent"].set()
        raise EOFError

    return answer


def run(count: int, seed: int) -> None:
    """Compare *count* exchanges of own classes, and of install() with a hook, with stock urllib3."""
    source = random.Random(seed)
    current: dict[str, typing.Any] = {}
    with Tap(answering(current)) as server:
        for number in range(count):
            one = case(source)
            compare(
                one, lambda how, one=one: seen_of(how, one, server, current), f"seed {seed}, case {number}", one.reset
            )


def compare(one: typing.Any, run: typing.Callable[[str], typing.Any], name: str, reset: bool) -> None:
    """Hold the outcomes of onewrite against those of stock, with a reset those of three runs each."""
    runs = range(3 if reset else 1)
    wanted = {repr(run("stock")) for _ in runs}
    for how in ("own", "installed"):
        found = {repr(run(how)) for _ in runs}
        for _ in range(100 if reset else 0):
            if found <= wanted:
                break
            wanted.add(repr(run("stock")))
        shown = [" or ".join(sorted(outcomes)) for outcomes in (found, wanted)]
        assert found <= wanted, f"{name}, {how}: {one}\n{shown[0]}\nand not\n{shown[1]}"
