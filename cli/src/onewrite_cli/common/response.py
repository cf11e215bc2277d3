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

from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.holds import pause_s
from onewrite_cli.common.origin import authority
from onewrite_cli.common.stalls import Message

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
    """`times_ns` (time.monotonic_ns()) are those of its pieces. `body` has its size and a checksum."""

    status: int
    times_ns: list[int]
    keep_alive: bool
    server: str
    body: tuple[int, int]

    @property
    def tail_ns(self) -> int:
        """First to last byte."""
        return self.times_ns[-1] - self.times_ns[0]


class _Open(io.BufferedReader):
    def close(self) -> None:
        """Nothing: http.client closes its file with an interim response, and the final one is still to be read."""


class Received(io.RawIOBase):
    """What a socket receives until `deadline` (time.monotonic()), and when each piece came.

    With `quick` every segment is acknowledged at once, with False later, as on a busy connection. None changes nothing.
    `silent` is called while nothing comes.
    """

    def __init__(self, sock: socket.socket, deadline: float, quick: bool | None, silent: Callable[[], object] | None) -> None:
        self._sock, self._deadline, self.quick, self._silent = sock, deadline, quick, silent
        self.times_ns: list[int] = []
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
            raise TimeoutError(NOT_ENDED if self.times_ns else NO_ANSWER) from None
        if size:
            self.times_ns.append(time.monotonic_ns())
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
    sock: socket.socket, method: str, deadline: float, *, quick: bool | None = None, silent: Callable[[], object] | None = None
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
    sock: socket.socket, method: str, deadline: float, *, quick: bool | None = None, silent: Callable[[], object] | None = None
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
    return Response(response.status, received.times_ns, keep_alive, server, (size, checksum))


@dataclass
class Answered(Message):
    """One answer to a request that was written at `sent_ns`."""

    quick: bool  # every segment was acknowledged at once
    response: Response
    sent_ns: int
    bytes: int = 0


class Client:
    """One connection, on which each answer is counted and timed. Open when made. Raises OSError."""

    def __init__(self, host: str, port: int, *, tls: bool, timeout_s: float) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self.socket.getsockname()[1]
        self._host, self._tls, self.timeout_s = authority(host, port), tls, timeout_s

    def request(self, path: str, *, quick: bool, silent: Callable[[], object] | None = None) -> Answered:
        """GET, and the whole answer, with delayed or with quick ACKs; `silent` is called while nothing comes.

        Raises OSError, of which BadResponse.
        """
        head = f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: onewrite-check\r\nAccept: */*\r\n\r\n"
        self.socket.settimeout(self.timeout_s)
        if self._tls and not isinstance(self.socket, ssl.SSLSocket):
            # Only now: a server with few threads takes other connections first. It is the user's, so nothing is checked.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        before, sent_ns = tcpinfo.read(self.socket), time.monotonic_ns()
        self.socket.sendall(head.encode())
        response = read_response(self.socket, "GET", time.monotonic() + self.timeout_s, quick=quick, silent=silent)
        after = tcpinfo.read(self.socket)
        if before is None or after is None:
            return Answered(quick, response, sent_ns)
        size = after.bytes_received - before.bytes_received
        return Answered(quick, response, sent_ns, size, segments=after.data_segs_in - before.data_segs_in)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
