"""The counting server of a check, which reads the client's send queue while nothing comes, and its TCP_NODELAY once."""

from __future__ import annotations

import time

from onewrite_lab.tap import Answer, Arrival, Channel, Conversation, Exchange
from onewrite_lab.tap.channel import Piece
from onewrite_lab.tap.conversation import IDLE_S

from onewrite_cli.common.origin import Origin
from onewrite_cli.common.sockets import FIRST_S, LOOK_S, Ends, Sockets

__all__ = ["OWN_NAME", "Watched", "WatchedOrigin", "ends_of"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"
HERE = "127.0.0.1"


def ends_of(arrival: Arrival) -> Ends:
    return (HERE, arrival.peer_port), (HERE, arrival.local_port)


class Watched(Conversation):
    """One connection."""

    def __init__(self, tap: WatchedOrigin, channel: Channel, arrival: Arrival) -> None:
        super().__init__(tap, channel, arrival)
        self.sockets, self._keeps_bodies = tap.sockets, tap.keeps_bodies
        self._asked = False

    def _receive(self) -> Piece | None:
        self._forget_body()
        begun, ends, pause_s, looks = time.monotonic(), ends_of(self.arrival), FIRST_S, 0
        while not self.tap.stop.is_set() and time.monotonic() - begun < IDLE_S:
            piece = self.channel.receive(pause_s)
            if piece is not None:
                return piece
            looks += 1
            self.sockets.look(ends, looks)
            pause_s = LOOK_S
        return None

    def read_nodelay(self) -> None:
        """Once, when the first request is whole: later its socket may be gone, earlier the reading would delay its pieces."""
        if not self._asked:
            self._asked = True
            self.sockets.read_nodelay(ends_of(self.arrival))

    def respond(self, exchange: Exchange, answer: Answer) -> bool:
        self.read_nodelay()
        self._forget_body()
        return super().respond(exchange, answer)

    def _forget_body(self) -> None:
        """Bytes are counted as they arrive, so an upload of any size needs no memory."""
        if self.exchange is not None and not self._keeps_bodies:
            self.exchange.request.forget_body()


class WatchedOrigin(Origin):
    """An origin whose conversations are watched."""

    conversation = Watched

    def __init__(self, scheme: str, sockets: Sockets, port: int = 0, *, keeps_bodies: bool = False) -> None:
        self.sockets, self.keeps_bodies = sockets, keeps_bodies
        super().__init__(scheme, port)
