"""A raw keep-alive HTTP client whose writes are chosen: the cause of the stall, with nothing else around it."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from dataclasses import dataclass

__all__ = ["MODES", "Client", "Mode", "Reader", "data_segments_in", "data_segments_out"]

# struct tcp_info, include/uapi/linux/tcp.h: since Linux 4.6
_DATA_SEGS_IN, _DATA_SEGS_OUT = 152, 156


def _tcp_info(sock: socket.socket, offset: int) -> int | None:
    if not hasattr(socket, "TCP_INFO"):
        return None
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=I", info, offset)[0] if len(info) >= offset + 4 else None


def data_segments_out(sock: socket.socket) -> int | None:
    """Segments with data sent on this connection so far; None where the kernel does not tell."""
    return _tcp_info(sock, _DATA_SEGS_OUT)


def data_segments_in(sock: socket.socket) -> int | None:
    """Segments with data received on this connection so far; None where the kernel does not tell."""
    return _tcp_info(sock, _DATA_SEGS_IN)


@dataclass(frozen=True)
class Mode:
    """`gap_s` is a pause between head and body, as a client makes that prepares the body in between."""

    name: str
    nodelay: bool
    split: bool
    gap_s: float = 0


MODES = (Mode("nagle+split", False, True), Mode("nodelay+split", True, True), Mode("one write", False, False))


class Reader:
    """Reads HTTP/1.1 messages off a socket. Enough for our own servers and the proxies between: no trailers."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = b""

    def _more(self) -> None:
        piece = self._sock.recv(262144)
        if not piece:
            raise EOFError("the peer closed the connection")
        self._data += piece

    def head(self) -> tuple[str, dict[str, str]]:
        """The start line, and the fields by lower-case name."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return start, {name.strip().lower(): value.strip() for name, _, value in pairs}

    def body(self, fields: dict[str, str]) -> bytes:
        if fields.get("transfer-encoding", "").lower() == "chunked":
            whole = b""
            while piece := self.chunk():
                whole += piece
            return whole
        return self._take(int(fields.get("content-length", "0")))

    def chunk(self) -> bytes:
        """One chunk's data; empty at the end of the body."""
        while b"\r\n" not in self._data:
            self._more()
        line, _, self._data = self._data.partition(b"\r\n")
        return self._take(int(line.split(b";")[0], 16) + 2)[:-2]

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        taken, self._data = self._data[:size], self._data[size:]
        return taken


class Client:
    """One connection to 127.0.0.1 on which POSTs are sent in one of the `MODES`."""

    def __init__(self, port: int, mode: Mode, *, size: int = 200, tls: ssl.SSLContext | None = None) -> None:
        self.mode = mode
        raw = socket.create_connection(("127.0.0.1", port), timeout=10)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, mode.nodelay)
        self.sock = tls.wrap_socket(raw, server_hostname="localhost") if tls else raw
        self._reader = Reader(self.sock)
        head = f"POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
        body = b"x" * size
        self._writes = (head, body) if mode.split else (head + body,)

    def post(self) -> float:
        """Sends one POST, reads the answer, returns the milliseconds between. Raises ValueError on an error status."""
        started = time.perf_counter()
        self.sock.sendall(self._writes[0])
        for piece in self._writes[1:]:
            if self.mode.gap_s:
                time.sleep(self.mode.gap_s)
            self.sock.sendall(piece)
        status, fields = self._reader.head()
        self._reader.body(fields)
        elapsed_ms = (time.perf_counter() - started) * 1000
        if " 200 " not in status + " ":
            raise ValueError(f"answered {status}")
        return elapsed_ms

    def segments(self) -> int | None:
        return data_segments_out(self.sock)

    def close(self) -> None:
        self.sock.close()
