"""A CONNECT tunnel through the checking proxy, which is not decrypted: bytes pass, and record headers are counted.

A request is what the client sends between two answers. A TLS 1.3 server's session tickets resemble an answer, so the
first request waits here until the server has been silent for a while.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from dataclasses import dataclass, field

from onewrite_lab.tap import Arrival, Channel

from onewrite_cli.check.client_sockets import ClientSockets
from onewrite_cli.check.tls_records import ClientRecords
from onewrite_cli.common.holds import pause_s
from onewrite_cli.common.origin import authority

__all__ = ["Tunnel", "Turn"]

CONNECT_S = 15.0
PIECE = 65536
TICKETS_S = 0.2  # so long a server must be silent after the handshake before it gets the first request
MOST_HELD = 1 << 20


@dataclass
class Turn:
    """The client's bytes between two answers. They can have waited in its kernel since `since_ns`."""

    since_ns: int
    times_ns: list[int] = field(default_factory=list)
    bytes: int = 0
    records: int = 0
    segments: int | None = None
    unclear: bool = False  # the end of the handshake was read with it


class Tunnel:
    """`turns` holds the requests, in order."""

    def __init__(self, channel: Channel, arrival: Arrival, sockets: ClientSockets) -> None:
        self._channel, self._arrival, self._sockets = channel, arrival, sockets
        self.records = ClientRecords()
        self.turns: list[Turn] = []
        self.fault: str | None = None
        self._turn: Turn | None = None
        self._baseline: int | None = None
        self._since_ns = 0  # the last piece of the handshake, or of an answer
        self._mixed = False  # more had come with the end of the handshake
        self._quiet_at: float | None = None  # until then the server may send session tickets
        self._waiting = b""  # the first request, meanwhile

    def run(self, host: str, port: int, behind: bytes) -> None:
        """Connect, and pass bytes until one side ends: first those that came behind the head of CONNECT.

        Raises OSError when the client's side breaks.
        """
        try:
            upstream = socket.create_connection((host, port), timeout=CONNECT_S)
        except (OSError, ValueError) as error:  # ValueError: a name that IDNA does not take
            self.fault = f"{authority(host, port)}: {error}"
            self._channel.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with upstream:
            upstream.settimeout(None)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._mark()
            self._channel.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                if behind:
                    self._from_client(behind, time.monotonic_ns(), upstream)
                self._pass(upstream)
        self._end_turn()

    def _pass(self, upstream: socket.socket) -> None:
        client = self._channel.sock
        both = [client, upstream]
        silent_since = time.monotonic()
        while both:
            now = time.monotonic()
            wait_s = pause_s(now - silent_since)
            if self._quiet_at is not None:
                wait_s = max(0.0, min(wait_s, self._quiet_at - now))
            readable, _, _ = select.select(both, [], [], wait_s)
            if client not in readable:
                self._sockets.look(self._arrival)
            if self._quiet_at is not None and (time.monotonic() >= self._quiet_at or len(self._waiting) > MOST_HELD):
                self._release(upstream)
            for source in readable:
                silent_since = time.monotonic()
                if source is client:
                    piece = self._channel.receive(0)
                    data = piece.data if piece else b""
                    if piece and data:
                        self._from_client(data, piece.t_ns, upstream)
                    else:
                        both.remove(client)
                        self._release(upstream)
                        with contextlib.suppress(OSError):
                            upstream.shutdown(socket.SHUT_WR)
                else:
                    data = upstream.recv(PIECE)
                    if not data:
                        with contextlib.suppress(OSError):
                            client.shutdown(socket.SHUT_WR)
                        return
                    if self._quiet_at is None:
                        self._end_turn()
                        self._since_ns = time.monotonic_ns()
                    else:
                        self._quiet_at = time.monotonic() + TICKETS_S
                    client.sendall(data)

    def _release(self, upstream: socket.socket) -> None:
        waiting, self._waiting, self._quiet_at = self._waiting, b"", None
        upstream.sendall(waiting)

    def _from_client(self, data: bytes, at_ns: int, upstream: socket.socket) -> None:
        """Count a piece, and pass it on."""
        started = self.records.application > 0
        new = self.records.feed(data)
        request = data if self._quiet_at is not None else b""
        if self.records.after_finished is not None:
            request = self.records.after_finished
            self._quiet_at = time.monotonic() + TICKETS_S
        upstream.sendall(data[: len(data) - len(request)])
        self._waiting += request
        if not started and not new:
            self._since_ns = at_ns
            before = self._baseline
            self._mark()
            self._mixed = self._baseline is None
            self._baseline = before if self._mixed else self._baseline
            return
        if self._turn is None:
            self._turn = Turn(self._since_ns)
            if not started:
                self._turn.unclear = self._mixed or not data.startswith(b"\x17") or 0 < len(request) < len(data)
        turn = self._turn
        turn.times_ns.append(at_ns)
        turn.bytes += len(request) or len(data)
        turn.records += new

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        before = self._baseline
        self._mark()
        if turn is None or not turn.records:  # a turn without records is an alert
            return
        if self._baseline is not None and before is not None:
            turn.segments = self._baseline - before
            if turn.unclear:
                # The client's last flight of the handshake is one segment (RFC 8446, 2); more than two may be either's.
                turn.segments = 1 if turn.segments <= 2 else None
        self.turns.append(turn)

    def _mark(self) -> None:
        """Note how many segments have come, where all of them have been read."""
        info = self._channel.info()
        exact = info is not None and self._channel.consumed_all(info)
        self._baseline = info.data_segs_in if info is not None and exact else None
