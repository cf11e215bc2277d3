"""The raw client: HTTP/1.1 on a bare blocking socket, with TCP_NODELAY and the number of writes chosen.

`CONTROL` is the pair's bad half: two writes with Nagle on, which stall wherever a client can. `GOOD` is one write with
TCP_NODELAY, which cannot.
"""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["CONTROL", "GOOD", "Connection", "How"]


@dataclass(frozen=True)
class How:
    """How a client sends. `gap_us` passes between the head and the body, which goes in `pieces` writes.

    `quickack` sets TCP_QUICKACK before each read (Linux): the server's split answer does not wait for an ACK then.
    """

    nagle: bool
    split: bool
    gap_us: int = 0
    pieces: int = 1
    quickack: bool = False
    authority: str | None = None
    proxy: str | None = None
    timeout_s: float = 30


class Connection:
    """One kept-alive connection. Redials when the peer has closed it."""

    def __init__(self, url: str, how: How) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self._context = ssl.create_default_context(cafile=how.authority) if parts.scheme == "https" else None
        self._proxy = urlsplit(how.proxy) if how.proxy else None
        self._path = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
        if self._proxy is not None and self._context is None:
            self._path = f"http://{parts.netloc}{self._path}"
        self._how = how
        self._sock: socket.socket | None = None
        self._buffer = bytearray()
        self.closes = False

    def connect(self) -> socket.socket:
        first = (self._host, self._port)
        if self._proxy is not None:
            first = (self._proxy.hostname or "", self._proxy.port or 80)
        sock = socket.create_connection(first, timeout=self._how.timeout_s)
        if not self._how.nagle:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is not None:
            if self._proxy is not None:
                self._tunnel(sock)
            sock = self._context.wrap_socket(sock, server_hostname=self._host)
        self._sock = sock
        self._buffer.clear()
        return sock

    def post(self, method: str, body: bytes) -> int:
        """Send one request and read its answer; return the status."""
        sock = self._sock or self.connect()
        head = (
            f"{method} {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        if self._how.split:
            sock.sendall(head)
            if self._how.gap_us:
                time.sleep(self._how.gap_us / 1e6)
            step = -(-len(body) // self._how.pieces) or 1
            for start in range(0, len(body), step):
                sock.sendall(body[start : start + step])
        else:
            sock.sendall(head + body)
        return self._read_answer(sock)

    def _tunnel(self, sock: socket.socket) -> None:
        place = f"{self._host}:{self._port}"
        sock.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            piece = sock.recv(1)  # the next byte after the answer belongs to TLS
            if not piece:
                raise ConnectionError("the proxy closed the connection")
            answer += piece
        if answer[9:12] != b"200":
            raise ConnectionError(f"the proxy answered {answer[9:12].decode('latin-1')}")

    def _read_answer(self, sock: socket.socket) -> int:
        """Read one final answer to its end; return the status. Then `closes` says whether the connection is kept."""
        status = 100
        while status < 200 and status != 101:
            while (end := self._buffer.find(b"\r\n\r\n")) < 0:
                self._fill(sock)
            head = bytes(self._buffer[:end]).lower()
            del self._buffer[: end + 4]
            status = int(head[9:12])
        self.closes = b"\r\nconnection: close" in head or (
            head.startswith(b"http/1.0") and b"\r\nconnection: keep-alive" not in head
        )
        at = head.find(b"\r\ncontent-length:")
        if b"\r\ntransfer-encoding: chunked" in head:
            while (size := int(self._line(sock).split(b";", 1)[0], 16)) > 0:
                self._drop(sock, size + 2)
            while self._line(sock):
                pass
        elif at >= 0:
            self._drop(sock, int(head[at + 17 :].split(b"\r\n", 1)[0]))
        elif status not in (101, 204, 304):
            self.closes = True
        if self.closes:
            self.close()
        return status

    def _line(self, sock: socket.socket) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._fill(sock)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _drop(self, sock: socket.socket, size: int) -> None:
        while len(self._buffer) < size:
            self._fill(sock)
        del self._buffer[:size]

    def _fill(self, sock: socket.socket) -> None:
        if self._how.quickack:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        data = sock.recv(65536)
        if not data:
            self.close()
            raise ConnectionError("the peer closed the connection")
        self._buffer += data

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


CONTROL = How(nagle=True, split=True)
GOOD = How(nagle=False, split=False)
