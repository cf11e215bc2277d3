"""A CONNECT tunnel through the checking proxy, which is not decrypted: bytes pass, and record headers are counted.

A request is what the client sends between two answers. A TLS 1.3 server's session tickets look like an answer, so the
first request waits here until the server has been silent for a while.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from onewrite_lab.tap import Channel

from onewrite_cli.check.tls_records import ClientRecords
from onewrite_cli.common.origin import authority

__all__ = ["Tunnel", "Turn"]

CONNECT_S = 15.0
PIECE = 65536
TICKETS_S = 0.2  # so long a server must be silent after the handshake before it gets the first request
HELD_S = 0.01  # so long after the end of the handshake the client's socket is read
MOST_HELD = 1 << 20


@dataclass
class Turn:
    """The client's bytes between two answers."""

    first_ns: int
    last_ns: int
    bytes: int = 0
    records: int = 0
    segments: int | None = None
    gap_ns: int = 0
    unclear: bool = False  # the end of the handshake was read with it


class Tunnel:
    """`turns` holds the requests, in order. `client_holds` reads whether the client's end has unsent bytes."""

    def __init__(self, channel: Channel, client_holds: Callable[[], bool]) -> None:
        self._channel, self._client_holds = channel, client_holds
        self.records = ClientRecords()
        self.turns: list[Turn] = []
        self.fault: str | None = None
        self._turn: Turn | None = None
        self._baseline: int | None = None
        self._handshake_ns = 0  # when its last piece came from the client
        self._mixed = False  # more had come with it
        self._held = False  # the client had more to send then, and its kernel kept it back
        self._look_at: float | None = None
        self._quiet_at: float | None = None  # until then the server may send session tickets
        self._waiting = b""  # the first request, meanwhile

    def run(self, host: str, port: int) -> None:
        """Connect, and pass bytes until one side ends. Raises OSError when the client's side breaks."""
        try:
            upstream = socket.create_connection((host, port), timeout=CONNECT_S)
        except OSError as error:
            self.fault = f"{authority(host, port)}: {error}"
            self._channel.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with upstream:
            upstream.settimeout(None)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._mark()
            self._channel.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                self._pass(upstream)
        self._end_turn()

    def _pass(self, upstream: socket.socket) -> None:
        client = self._channel.sock
        both = [client, upstream]
        while both:
            moments = [moment for moment in (self._look_at, self._quiet_at) if moment is not None]
            wait_s = max(0.0, min(moments) - time.monotonic()) if moments else None
            readable, _, _ = select.select(both, [], [], wait_s)
            self._meanwhile(upstream)
            for source in readable:
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
                    else:
                        self._quiet_at = time.monotonic() + TICKETS_S
                    client.sendall(data)

    def _meanwhile(self, upstream: socket.socket) -> None:
        now = time.monotonic()
        if self._look_at is not None and now >= self._look_at:
            self._look_at = None
            self._held = self._turn is None and self._client_holds()
        if self._quiet_at is not None and (now >= self._quiet_at or len(self._waiting) > MOST_HELD):
            self._release(upstream)

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
            self._handshake_ns = at_ns
            self._look_at = time.monotonic() + HELD_S
            before = self._baseline
            self._mark()
            self._mixed = self._baseline is None
            self._baseline = before if self._mixed else self._baseline
            return
        if self._turn is None:
            self._turn = Turn(at_ns, at_ns)
            if not started:
                # What the client's kernel kept back behind the end of the handshake has waited since then.
                self._turn.first_ns = self._turn.last_ns = self._handshake_ns if self._held else at_ns
                self._turn.unclear = self._mixed or not data.startswith(b"\x17") or 0 < len(request) < len(data)
        turn = self._turn
        turn.gap_ns = max(turn.gap_ns, at_ns - turn.last_ns)
        turn.last_ns = at_ns
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
