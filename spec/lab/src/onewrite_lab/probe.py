"""The probe: sends a request in chosen pieces over one connection, reads the answer, times it and counts its segments.

It is the one raw HTTP client of the lab, the bench and the command. The kernel's account of the connection says how
long bytes stayed in the send queue. http.client reads the answers.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import select
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from onewrite_lab.witness import tcpinfo

__all__ = ["NOT_ENDED", "BadAnswer", "Exchange", "NotHttp", "Probe", "Received", "authority", "request_pieces"]

STATUS_LINE = b"HTTP/1."
PIECE = 1 << 16
LOOK_S = 0.0005  # between two readings of the send queue, while it holds something
FIRST_S, SILENT_S = 0.004, 0.015  # until the first call of `silent`, and between two
NO_ANSWER = "no byte of an answer came in time"
NOT_ENDED = "the answer began, and did not end in time"
CLOSED = "the connection was closed before the answer was whole"


class BadAnswer(OSError):
    """The bytes are not an HTTP/1.1 answer, or not a whole one."""


class NotHttp(BadAnswer):
    """The first bytes are no HTTP/1.x status line: a second request is of no use."""


def authority(host: str, port: object) -> str:
    """Host and port as they stand in a URL: an IPv6 address in brackets (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def request_pieces(
    url: str, body: bytes, method: str = "POST", *, writes: int = 1, proxied: bool = False
) -> list[bytes]:
    """A request as one piece, or as its head and then its body in the `writes` that are left.

    `proxied` says that a plain request goes to a proxy, which takes the absolute form (RFC 9112, 3.2.2).
    """
    to = urlsplit(url)
    target = (to.path or "/") + (f"?{to.query}" if to.query else "")
    if proxied and to.scheme == "http":
        target = f"http://{to.netloc}{target}"
    lines = [f"{method} {target} HTTP/1.1", f"Host: {to.netloc}", "Content-Type: application/octet-stream"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()
    if writes == 1:
        return [head + body]
    step = -(-len(body) // (writes - 1)) or 1
    return [head, *(body[at : at + step] for at in range(0, len(body), step))]


@dataclass
class Exchange:
    """One request and its answer. Times are time.monotonic_ns(), durations ns; None where the kernel says nothing.

    `paused_ns` passed between the writes. `late_ns` is how much longer than meant that was, and the time until the send
    queue was first read: a busy machine runs something else meanwhile, and an ACK that comes then leaves nothing held.
    """

    begun_ns: int
    written_ns: int  # the last write had returned
    paused_ns: int = 0
    late_ns: int = 0
    early: bool = False  # the answer began before the last write
    held_ns: int | None = None  # from the last write until no byte was unsent
    held_bytes: int | None = None
    status: int = 0
    keep_alive: bool = False
    server: str = ""
    size: int = 0  # bytes of the body
    times_ns: list[int] = field(default_factory=list)  # of the pieces of the answer
    segments: int | None = None  # of the answer
    wire_bytes: int = 0  # of the answer
    retransmits: int = 0
    rwnd_limited_ns: int = 0
    min_rtt_us: int | None = None

    @property
    def total_ns(self) -> int:
        """First write to last byte, without the pause between the writes, which a busy machine makes longer."""
        return self.times_ns[-1] - self.begun_ns - self.paused_ns

    @property
    def wait_ns(self) -> int:
        """Last write to first byte."""
        return max(0, self.times_ns[0] - self.written_ns)

    @property
    def tail_ns(self) -> int:
        """First to last byte."""
        return self.times_ns[-1] - self.times_ns[0]


class _Open(io.BufferedReader):
    def close(self) -> None:
        """Nothing: http.client closes its file with an interim answer, and the final one is still to be read."""


class Received(io.RawIOBase):
    """What a socket receives until `deadline` (time.monotonic()), and when each piece came.

    With `quick` True each segment is acknowledged at once, with False later, as on a busy connection; None changes
    nothing. `silent` is called again and again while nothing comes.
    """

    def __init__(
        self, sock: socket.socket, deadline: float, quick: bool | None, silent: Callable[[], object] | None
    ) -> None:
        self._sock, self._deadline, self.quick, self._silent = sock, deadline, quick, silent
        self.times_ns: list[int] = []
        self.buffered = _Open(self, PIECE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.quick is not None and hasattr(socket, "TCP_QUICKACK"):  # the kernel forgets it
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(self.quick))
        pending = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()
        pause_s = FIRST_S
        while self._silent and not pending and time.monotonic() < self._deadline:
            if select.select([self._sock], [], [], pause_s)[0]:
                break
            self._silent()
            pause_s = SILENT_S
        try:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._sock.settimeout(left)
            size = self._sock.recv_into(buffer)
        except TimeoutError:
            raise TimeoutError(NOT_ENDED if self.times_ns else NO_ANSWER) from None
        if size:
            self.times_ns.append(time.monotonic_ns())
        return size

    def makefile(self, mode: str) -> io.BufferedReader:
        """What http.client wants of a socket."""
        return self.buffered


class Probe:
    """One connection, open when made. Raises OSError, of which BadAnswer and ssl.SSLError.

    `tunnel` is the head of a CONNECT request, sent before TLS begins. Without `context` there is no TLS.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        nodelay: bool = True,
        context: ssl.SSLContext | None = None,
        server_name: str | None = None,
        tunnel: bytes = b"",
        timeout_s: float = 30.0,
    ) -> None:
        self.timeout_s = timeout_s
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.port: int = self.socket.getsockname()[1]
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))
            if tunnel:
                self.socket.sendall(tunnel)
                # A successful CONNECT has no body, whatever its headers say (RFC 9110, 9.3.6): HEAD reads it that way.
                status = self.begin("HEAD")[0].status
                if not 200 <= status < 300:
                    raise BadAnswer(f"the proxy answers CONNECT with status {status}")
            if context is not None:
                self.socket.settimeout(timeout_s)
                self.socket = context.wrap_socket(self.socket, server_hostname=server_name)
        except BaseException:
            self.close()
            raise

    @classmethod
    def to(
        cls,
        url: str,
        *,
        nodelay: bool = True,
        ca_file: str | None = None,
        proxy: str | None = None,
        timeout_s: float = 30.0,
    ) -> Probe:
        """A connection to the host of `url`, through `proxy` where one is named. `ca_file` is the PEM to trust."""
        to, through = urlsplit(url), urlsplit(proxy or url)
        host, port = to.hostname or "", to.port or (443 if to.scheme == "https" else 80)
        context = ssl.create_default_context(cafile=ca_file) if to.scheme == "https" else None
        where = authority(host, port)
        tunnel = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode() if proxy and context else b""
        address = through.hostname or "", through.port or (443 if through.scheme == "https" else 80)
        return cls(address, nodelay=nodelay, context=context, server_name=host, tunnel=tunnel, timeout_s=timeout_s)

    def exchange(
        self,
        pieces: Sequence[bytes],
        method: str = "POST",
        *,
        gap_s: float = 0.0,
        quick: bool | None = None,
        silent: Callable[[], object] | None = None,
        timeout_s: float | None = None,
    ) -> Exchange:
        """Write a request, each piece in one write with `gap_s` between them, and read the whole final answer."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        self.socket.settimeout(timeout_s or self.timeout_s)
        before = tcpinfo.read(self.socket)
        made = Exchange(time.monotonic_ns(), 0)
        for number, piece in enumerate(pieces):
            if number and gap_s:
                between = time.monotonic_ns()
                time.sleep(gap_s)
                paused = time.monotonic_ns() - between
                made.paused_ns += paused
                made.late_ns += paused - int(gap_s * 1e9)
            if number and number == len(pieces) - 1:
                made.early = bool(select.select([self.socket], [], [], 0)[0])
            self.socket.sendall(piece)
        made.written_ns = time.monotonic_ns()
        self._watch_queue(made, deadline)
        self._read(made, method, deadline, quick, silent)
        after = tcpinfo.read(self.socket)
        if before is not None and after is not None:
            made.segments = after.data_segs_in - before.data_segs_in
            made.wire_bytes = after.bytes_received - before.bytes_received
            made.retransmits = after.total_retrans - before.total_retrans
            made.rwnd_limited_ns = (after.rwnd_limited_us - before.rwnd_limited_us) * 1000
            made.min_rtt_us = after.min_rtt_us
        return made

    def _watch_queue(self, made: Exchange, deadline: float) -> None:
        """How long bytes stay in the send queue, or until the answer begins: it may be to half a request."""
        info = tcpinfo.read(self.socket)
        if info is None:
            return
        made.late_ns += time.monotonic_ns() - made.written_ns
        made.held_bytes, made.held_ns = info.not_sent, 0
        while info is not None and info.not_sent and time.monotonic() < deadline:
            if select.select([self.socket], [], [], LOOK_S)[0]:
                break
            info = tcpinfo.read(self.socket)
        if made.held_bytes:
            made.held_ns = time.monotonic_ns() - made.written_ns

    def begin(
        self,
        method: str,
        *,
        quick: bool | None = None,
        silent: Callable[[], object] | None = None,
        deadline: float | None = None,
    ) -> tuple[http.client.HTTPResponse, Received]:
        """The head of the next final answer; its body is still to be read. `deadline` is in time.monotonic()."""
        received = Received(self.socket, deadline or time.monotonic() + self.timeout_s, quick, silent)
        start = received.buffered.peek()
        if not start:
            raise BadAnswer(CLOSED)
        if not STATUS_LINE.startswith(start[: len(STATUS_LINE)]):
            hint = "a TLS alert: say https://" if start.startswith(b"\x15\x03") else repr(start[:40])[1:]
            raise NotHttp(f"not an HTTP/1.1 answer: {hint}")
        try:
            while True:
                answer = http.client.HTTPResponse(cast(socket.socket, received), method=method)
                answer.begin()
                if answer.status >= 200:
                    return answer, received
        except http.client.HTTPException as error:
            raise BadAnswer(f"not an HTTP/1.1 answer: {error}") from error

    def _read(
        self, made: Exchange, method: str, deadline: float, quick: bool | None, silent: Callable[[], object] | None
    ) -> None:
        answer, received = self.begin(method, quick=quick, silent=silent, deadline=deadline)
        made.status, made.keep_alive, made.server = (
            answer.status,
            not answer.will_close,
            answer.headers.get("server", ""),
        )
        try:
            while data := answer.read1(PIECE):
                made.size += len(data)
        except http.client.HTTPException as error:
            raise BadAnswer(CLOSED) from error
        if answer.length:
            raise BadAnswer(CLOSED)
        made.times_ns = received.times_ns

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
