"""Reads responses from a socket, and notes when each began and ended; and a client that counts their segments."""

from __future__ import annotations

import contextlib
import http.client
import io
import select
import socket
import ssl
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from onewrite_lab.witness import SocketReading, tcpinfo

from onewrite_cli.common.holds import Hold, Holds, pause_s
from onewrite_cli.common.origin import authority

__all__ = ["NOT_ENDED", "Answered", "BadResponse", "Client", "NotHttp", "Received", "Response", "begin_response", "read_response"]

STATUS_LINE = b"HTTP/1."
PIECE = 1 << 16
NO_ANSWER = "no byte of an answer came in time"
NOT_ENDED = "the answer began, and did not end in time"
CLOSED = "the connection was closed before the response was whole"


class BadResponse(OSError):
    """The bytes are not an HTTP/1.1 response, or not a whole response."""


class NotHttp(BadResponse):
    """The first bytes are no HTTP/1.x status line: a second request is of no use."""


@dataclass
class Response:
    """Times are time.monotonic_ns(). `body` has its size and a checksum."""

    status: int
    first_ns: int
    last_ns: int
    keep_alive: bool
    server: str
    body: tuple[int, int]


class _Open(io.BufferedReader):
    def close(self) -> None:
        """Nothing: http.client closes its file with an interim response, and the final one is still to be read."""


class Received(io.RawIOBase):
    """What a socket receives until `deadline` (time.monotonic()), and when the first and the last bytes came.

    With `quick` every segment is acknowledged at once, with False later, as on a busy connection. None changes nothing.
    `silent` is called while nothing comes.
    """

    def __init__(self, sock: socket.socket, deadline: float, quick: bool | None, silent: Callable[[], None] | None) -> None:
        self._sock, self._deadline, self.quick, self._silent = sock, deadline, quick, silent
        self.first_ns = self.last_ns = 0
        self.buffered = _Open(self, PIECE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.quick is not None and hasattr(socket, "TCP_QUICKACK"):  # the kernel forgets it
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(self.quick))
        self._wait()
        try:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._sock.settimeout(left)
            size = self._sock.recv_into(buffer)
        except TimeoutError:
            raise TimeoutError(NOT_ENDED if self.first_ns else NO_ANSWER) from None
        if size:
            self.last_ns = time.monotonic_ns()
            self.first_ns = self.first_ns or self.last_ns
        return size

    def _wait(self) -> None:
        begun = now = time.monotonic()
        pending = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()
        while self._silent and not pending and now < self._deadline:
            if select.select([self._sock], [], [], pause_s(now - begun))[0]:
                return
            self._silent()
            now = time.monotonic()

    def makefile(self, mode: str) -> io.BufferedReader:
        """What http.client wants of a socket."""
        return self.buffered


def begin_response(
    sock: socket.socket, method: str, deadline: float, *, quick: bool | None = None, silent: Callable[[], None] | None = None
) -> tuple[http.client.HTTPResponse, Received]:
    """The head of the next final response. Raises OSError, of which BadResponse."""
    received = Received(sock, deadline, quick, silent)
    start = received.buffered.peek()
    if not start:
        raise BadResponse(CLOSED)
    if not STATUS_LINE.startswith(start[: len(STATUS_LINE)]):
        hint = "a TLS alert: say https://" if start.startswith(b"\x15\x03") else repr(start[:40])[1:]
        raise NotHttp(f"not an HTTP/1.1 response: {hint}")
    try:
        while True:
            response = http.client.HTTPResponse(cast(socket.socket, received), method=method)
            response.begin()
            if response.status >= 200:
                return response, received
    except http.client.HTTPException as error:
        raise BadResponse(f"not an HTTP/1.1 response: {error}") from error


def read_response(
    sock: socket.socket, method: str, deadline: float, *, quick: bool | None = None, silent: Callable[[], None] | None = None
) -> Response:
    """The next final response, whole. Raises OSError, of which BadResponse."""
    response, received = begin_response(sock, method, deadline, quick=quick, silent=silent)
    keep_alive, server = not response.will_close, response.headers.get("server", "")
    size = checksum = 0
    try:
        while data := response.read1(PIECE):
            size, checksum = size + len(data), zlib.crc32(data, checksum)
    except http.client.HTTPException as error:
        raise BadResponse(CLOSED) from error
    if response.length:
        raise BadResponse(CLOSED)
    return Response(response.status, received.first_ns, received.last_ns, keep_alive, server, (size, checksum))


@dataclass(frozen=True)
class Answered:
    """One answer. `segments` is None where they could not be counted; times in nanoseconds."""

    quick: bool  # every segment was acknowledged at once
    status: int
    segments: int | None
    bytes: int
    body_bytes: int
    tail_ns: int  # first to last byte
    keep_alive: bool
    server: str
    corked_ns: int = 0  # the longest time that the server's kernel kept bytes by MSG_MORE or a cork


class Client:
    """One connection, on which each answer is counted and timed. Open when made. Raises OSError."""

    def __init__(self, host: str, port: int, *, tls: bool, timeout_s: float) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self.socket.getsockname()[1]
        self._host, self.timeout_s = authority(host, port), timeout_s
        if tls:
            # The certificate is not checked: the user started this server.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)

    def request(self, path: str, *, quick: bool, silent: Callable[[int], SocketReading | None] | None = None) -> Answered:
        """GET, and the whole answer, with delayed or with quick ACKs; `silent` reads the server's end while nothing comes.

        Raises OSError, of which BadResponse.
        """
        holds, corked_ns = Holds(), 0

        def look() -> None:
            nonlocal corked_ns
            if silent and (reading := silent(self.port)):
                holds.note(reading)
                held = holds.ended(0, time.monotonic_ns()) or Hold()
                corked_ns = max(corked_ns, held.ns if held.cause == "cork" else 0)

        head = f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: onewrite-check\r\nAccept: */*\r\n\r\n"
        before = tcpinfo.read(self.socket)
        self.socket.settimeout(self.timeout_s)
        self.socket.sendall(head.encode())
        response = read_response(self.socket, "GET", time.monotonic() + self.timeout_s, quick=quick, silent=look)
        after = tcpinfo.read(self.socket)
        both = (before, after) if before is not None and after is not None else None
        return Answered(
            quick=quick,
            status=response.status,
            segments=both[1].data_segs_in - both[0].data_segs_in if both else None,
            bytes=both[1].bytes_received - both[0].bytes_received if both else 0,
            body_bytes=response.body[0],
            tail_ns=response.last_ns - response.first_ns,
            keep_alive=response.keep_alive,
            server=response.server,
            corked_ns=corked_ns,
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
