"""HTTP/1.1 off a socket, and what the kernel counted of it. Standard library only: origin.py runs without anything else."""

from __future__ import annotations

import socket
import struct

__all__ = ["Reader", "data_segments_in"]

_DATA_SEGS_IN = 152  # in struct tcp_info, since Linux 4.6; the other offsets are in onewrite_lab.witness.tcpinfo


def data_segments_in(sock: socket.socket) -> int | None:
    """Segments with data received on this connection so far; None where the kernel does not tell."""
    if not hasattr(socket, "TCP_INFO"):
        return None
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=I", info, _DATA_SEGS_IN)[0] if len(info) >= _DATA_SEGS_IN + 4 else None


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
