"""Reads responses from a socket, and notes when each began and ended; and a client that counts their segments."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
import zlib
from dataclasses import dataclass

from onewrite_lab.tap import parse_response_head
from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.origin import authority

__all__ = ["NOT_ENDED", "Answered", "BadResponse", "Client", "NotHttp", "Response", "ResponseReader"]

STATUS_LINE = b"HTTP/1."
MAX_HEAD = 1 << 16
MAX_BODY = 1 << 26
NO_ANSWER = "no byte of an answer came in time"
NOT_ENDED = "the answer began, and did not end in time"


class BadResponse(Exception):
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


class ResponseReader:
    """One connection's reading side. `deadline` (time.monotonic()) holds for everything that is read."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self.deadline = deadline
        self._buffer = b""
        self._first_ns = 0
        self._last_ns = 0
        self._body_bytes = self._checksum = 0

    def read(self, method: str) -> Response:
        """The next final response. Raises BadResponse, OSError."""
        self._first_ns = 0
        self._body_bytes = self._checksum = 0
        while True:
            head = self._until(b"\r\n\r\n", MAX_HEAD, STATUS_LINE)
            try:
                status, headers = parse_response_head(head)
            except ValueError as error:
                raise BadResponse(f"not an HTTP/1.1 response: {error}") from error
            if status >= 200:
                break
        values = {name.lower(): value for name, value in headers}
        keep = head.startswith(b"HTTP/1.1") and "close" not in values.get("connection", "").lower()
        if method != "HEAD" and status not in (204, 304):
            keep = self._body(values) and keep
        body = self._body_bytes, self._checksum
        return Response(status, self._first_ns, self._last_ns, keep, values.get("server", ""), body)

    def _body(self, values: dict[str, str]) -> bool:
        """Read it; False when only the end of the connection ended it."""
        if "chunked" in values.get("transfer-encoding", "").lower():
            while True:
                size = int(self._until(b"\r\n", 1024).split(b";")[0], 16)
                self._take(size)
                if size:
                    self._until(b"\r\n", 2)
                if size == 0:
                    break
            while self._until(b"\r\n", MAX_HEAD) != b"\r\n":
                pass
            return True
        if (length := values.get("content-length", "")).isdigit():
            self._take(int(length))
            return True
        self._count(len(self._buffer))
        while self._more():
            self._count(len(self._buffer))
        return False

    def _count(self, size: int) -> None:
        """Take `size` bytes of the buffer as body."""
        self._checksum = zlib.crc32(self._buffer[:size], self._checksum)
        self._body_bytes += size
        self._buffer = self._buffer[size:]

    def _until(self, end: bytes, most: int, begin: bytes = b"") -> bytes:
        while end not in self._buffer:
            if not begin.startswith(self._buffer[: len(begin)]):
                break
            if len(self._buffer) > most:
                raise BadResponse("the head of the response does not end")
            if not self._more():
                raise BadResponse("the connection was closed before the response was whole")
        if not self._buffer.startswith(begin):
            hint = "a TLS alert: say https://" if self._buffer.startswith(b"\x15\x03") else repr(self._buffer[:40])[1:]
            raise NotHttp(f"not an HTTP/1.1 response: {hint}")
        at = self._buffer.index(end) + len(end)
        taken, self._buffer = self._buffer[:at], self._buffer[at:]
        return taken

    def _take(self, size: int) -> None:
        if size > MAX_BODY:
            raise BadResponse("the response is larger than 64 MiB")
        while len(self._buffer) < size:
            size -= len(self._buffer)
            self._count(len(self._buffer))
            if not self._more():
                raise BadResponse("the connection was closed before the response was whole")
        self._count(size)

    def _more(self) -> bool:
        try:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._sock.settimeout(left)
            data = self._sock.recv(1 << 16)
        except TimeoutError:
            raise TimeoutError(NOT_ENDED if self._first_ns else NO_ANSWER) from None
        now = time.monotonic_ns()
        self._first_ns = self._first_ns or now
        if data:
            self._last_ns = now
        self._buffer += data
        return bool(data)


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
        self._reader = ResponseReader(self.socket, 0)

    def request(self, path: str, *, quick: bool) -> Answered:
        """GET, and the whole answer, with delayed or with quick ACKs. Raises OSError, BadResponse, ValueError."""
        head = f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: onewrite-check\r\nAccept: */*\r\n\r\n"
        before = tcpinfo.read(self.socket)
        self._reader.deadline = time.monotonic() + self.timeout_s
        self.socket.sendall(head.encode())
        if hasattr(socket, "TCP_QUICKACK"):
            # 0 delays the ACKs of a new connection, too; 1 holds until the next write.
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(quick))
        response = self._reader.read("GET")
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
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
