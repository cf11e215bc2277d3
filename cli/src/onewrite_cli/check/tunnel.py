"""A CONNECT tunnel through the checking proxy, which is not opened: bytes pass, and their record headers are counted.

A request is what the client sends between two answers. A TLS 1.3 server's session tickets look like an answer: they
pass before the first request does, and that request is left out, because the client's Finished is counted with it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from dataclasses import dataclass

from onewrite_lab.tap import Channel

from onewrite_cli.check.tls_records import ClientRecords

__all__ = ["Tunnel", "Turn"]

CONNECT_S = 15.0
PIECE = 65536
TICKETS_S = 0.2  # so long a server must be silent after the handshake before it gets the first request


@dataclass
class Turn:
    """What the client sent between two answers."""

    first_ns: int
    last_ns: int
    bytes: int = 0
    records: int = 0
    segments: int | None = None
    gap_ns: int = 0
    answer_ns: int | None = None


class Tunnel:
    """`turns` holds the requests, in order."""

    def __init__(self, channel: Channel, accepted_ns: int) -> None:
        self.accepted_ns = accepted_ns
        self._channel = channel
        self.records = ClientRecords()
        self.turns: list[Turn] = []
        self.fault: str | None = None
        self._first_turn = True
        self._turn: Turn | None = None
        self._baseline: int | None = None

    def run(self, host: str, port: int) -> None:
        """Connect, and pass bytes until one side ends. Raises OSError when the client's side breaks."""
        try:
            upstream = socket.create_connection((host, port), timeout=CONNECT_S)
        except OSError as error:
            self.fault = f"{host}:{port}: {error}"
            self._channel.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with upstream:
            upstream.settimeout(None)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._mark()
            self._channel.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                self._pass(upstream)
        self._end_turn(None)

    def _pass(self, upstream: socket.socket) -> None:
        client = self._channel.sock
        both = [client, upstream]
        while both:
            readable, _, _ = select.select(both, [], [])
            for source in readable:
                if source is client:
                    piece = self._channel.receive(0)
                    data = piece.data if piece else b""
                    if piece and data:
                        self._from_client(data, piece.t_ns)
                    sink = upstream
                else:
                    data = upstream.recv(PIECE)
                    if data:
                        self._end_turn(time.monotonic_ns())
                    sink = client
                if not data:
                    both.remove(source)
                    with contextlib.suppress(OSError):
                        sink.shutdown(socket.SHUT_WR)
                    if source is upstream:
                        return
                elif source is client and self.records.after_finished is not None:
                    self._pass_tickets(upstream, data, self.records.after_finished)
                else:
                    sink.sendall(data)

    def _pass_tickets(self, upstream: socket.socket, data: bytes, request: bytes) -> None:
        """Send the request only after the tickets: what a server says before it has a request is no answer."""
        upstream.sendall(data[: len(data) - len(request)])
        while select.select([upstream], [], [], TICKETS_S)[0]:
            tickets = upstream.recv(PIECE)
            if not tickets:
                break
            self._channel.send(tickets)
        upstream.sendall(request)

    def _from_client(self, data: bytes, at_ns: int) -> None:
        new = self.records.feed(data)
        if not self.records.ready:
            return
        if self._turn is None:
            self._turn = Turn(at_ns, at_ns)
        self._turn.gap_ns = max(self._turn.gap_ns, at_ns - self._turn.last_ns)
        self._turn.last_ns = at_ns
        self._turn.bytes += len(data)
        self._turn.records += new

    def _end_turn(self, answer_ns: int | None) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            self._mark()
            return
        info = self._channel.info()
        exact = info is not None and self._channel.consumed_all(info)
        if info is not None and exact and self._baseline is not None:
            turn.segments = info.data_segs_in - self._baseline
        self._baseline = info.data_segs_in if info is not None and exact else None
        unclear = self._first_turn and self.records.tls13
        self._first_turn = False
        # A turn without records is an alert.
        if turn.records and not unclear:
            turn.answer_ns = answer_ns
            self.turns.append(turn)

    def _mark(self) -> None:
        info = self._channel.info()
        exact = info is not None and self._channel.consumed_all(info)
        self._baseline = info.data_segs_in if info is not None and exact else None
