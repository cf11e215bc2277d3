"""Reads one response from a socket, and notes when it began and when it ended."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from onewrite_lab.tap import parse_response_head

__all__ = ["BadResponse", "NotHttp", "Response", "ResponseReader"]

STATUS_LINE = b"HTTP/1."
MAX_HEAD = 1 << 16
MAX_BODY = 1 << 26


class BadResponse(Exception):
    """What came is no HTTP/1.1 response, or not a whole one."""


class NotHttp(BadResponse):
    """The first bytes are no HTTP/1.x status line: asking again is of no use."""


@dataclass
class Response:
    """Times are time.monotonic_ns()."""

    status: int
    first_ns: int
    last_ns: int
    keep_alive: bool
    server: str = ""


class ResponseReader:
    """One connection's reading side. `deadline` (time.monotonic()) holds for everything that is read."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self.deadline = deadline
        self._buffer = b""
        self._first_ns = 0
        self._last_ns = 0

    def read(self, method: str) -> Response:
        """The next final response. Raises BadResponse, OSError."""
        self._first_ns = 0
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
        return Response(status, self._first_ns, self._last_ns, keep, values.get("server", ""))

    def _body(self, values: dict[str, str]) -> bool:
        """Read it; False when only the end of the connection ended it."""
        if "chunked" in values.get("transfer-encoding", "").lower():
            while True:
                size = int(self._until(b"\r\n", 1024).split(b";")[0], 16)
                self._take(size + 2 if size else 0)
                if size == 0:
                    break
            while self._until(b"\r\n", MAX_HEAD) != b"\r\n":
                pass
            return True
        if (length := values.get("content-length", "")).isdigit():
            self._take(int(length))
            return True
        while self._more():
            self._buffer = b""
        return False

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
            self._buffer = b""
            if not self._more():
                raise BadResponse("the connection was closed before the response was whole")
        self._buffer = self._buffer[size:]

    def _more(self) -> bool:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        self._sock.settimeout(left)
        data = self._sock.recv(1 << 16)
        now = time.monotonic_ns()
        self._first_ns = self._first_ns or now
        if data:
            self._last_ns = now
        self._buffer += data
        return bool(data)
