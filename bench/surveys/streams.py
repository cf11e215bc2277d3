"""Streams through a proxy: how late each piece is. No client can change these figures; a proxy's option can."""

from __future__ import annotations

import json
import socket
import statistics
import time
from dataclasses import dataclass

from origin import EVENTS, GAP_S
from wire import Reader

__all__ = ["Lag", "events", "upload"]


@dataclass(frozen=True)
class Lag:
    """Milliseconds between a piece's sending and its arrival, piece by piece."""

    lags_ms: tuple[float, ...]

    @property
    def first_ms(self) -> float:
        return self.lags_ms[0]

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.lags_ms)

    @property
    def max_ms(self) -> float:
        return max(self.lags_ms)


def _connect(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=15)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def events(port: int) -> Lag:
    """Server-sent events, `EVENTS` of them, `GAP_S` apart. Both ends read one clock, so a lag is a difference."""
    with _connect(port) as sock:
        sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reader = Reader(sock)
        reader.head()
        lags = []
        while piece := reader.chunk():
            now = time.monotonic_ns()
            lags.append((now - int(piece.split()[1])) / 1e6)
    return Lag(tuple(lags))


def upload(port: int) -> Lag:
    """A chunked POST whose pieces leave at once, each in one write, with TCP_NODELAY on."""
    with _connect(port) as sock:
        sock.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(EVENTS):
            data = b"%d\n" % time.monotonic_ns()
            sock.sendall(b"%x\r\n%b\r\n" % (len(data), data))
            time.sleep(GAP_S)
        sock.sendall(b"0\r\n\r\n")
        reader = Reader(sock)
        _, fields = reader.head()
        return Lag(tuple(json.loads(reader.body(fields))))
