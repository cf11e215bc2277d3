"""A client of the tool's own: one connection, on which each answer is counted and timed."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from dataclasses import dataclass

from onewrite_lab.witness import tcpinfo

from onewrite_cli.doctor.response import ResponseReader

__all__ = ["Answered", "Client"]


@dataclass(frozen=True)
class Answered:
    """One answer. `segments` is None where they could not be counted; times in nanoseconds."""

    connection: int
    nth: int
    quick: bool  # every segment was acknowledged at once
    status: int
    segments: int | None
    bytes: int
    tail_ns: int  # first to last byte
    keep_alive: bool
    server: str


class Client:
    """Open when made. Raises OSError."""

    def __init__(self, host: str, port: int, *, tls: bool, timeout_s: float) -> None:
        self.raw = socket.create_connection((host, port), timeout=timeout_s)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self.raw.getsockname()[1]
        self._host, self._timeout_s = f"{host}:{port}", timeout_s
        self._socket = self.raw
        if tls:
            # Whose certificate it is does not matter here: the server is the one that the user started.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self._socket = self.raw = context.wrap_socket(self.raw)
        self._reader = ResponseReader(self._socket, 0)
        self._nth = 0

    def request(self, path: str, connection: int, *, quick: bool) -> Answered:
        """GET, and the whole answer, with delayed or with quick ACKs. Raises OSError, BadResponse, ValueError."""
        head = f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: onewrite-check\r\nAccept: */*\r\n\r\n"
        before = tcpinfo.read(self.raw)
        self._reader.deadline = time.monotonic() + self._timeout_s
        self._socket.sendall(head.encode())
        if hasattr(socket, "TCP_QUICKACK"):
            # 0 delays the ACKs of a new connection, too; 1 holds until the next write.
            self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(quick))
        response = self._reader.read("GET")
        after = tcpinfo.read(self.raw)
        both = (before, after) if before is not None and after is not None else None
        self._nth += 1
        return Answered(
            connection=connection,
            nth=self._nth - 1,
            quick=quick,
            status=response.status,
            segments=both[1].data_segs_in - both[0].data_segs_in if both else None,
            bytes=both[1].bytes_received - both[0].bytes_received if both else 0,
            tail_ns=response.last_ns - response.first_ns,
            keep_alive=response.keep_alive,
            server=response.server,
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
