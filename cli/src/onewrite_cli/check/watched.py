"""The counting server of a check, which reads the client's socket with the first bytes, and while nothing comes."""

from __future__ import annotations

import time

from onewrite_lab.tap import Arrival, Channel, Conversation
from onewrite_lab.tap.channel import Piece
from onewrite_lab.tap.conversation import IDLE_S

from onewrite_cli.common.holds import pause_s
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.sockets import Ends, Sockets

__all__ = ["Watched", "WatchedOrigin", "ends_of"]


def ends_of(arrival: Arrival) -> Ends:
    return arrival.peer_port, arrival.local_port


class Watched(Conversation):
    """One connection."""

    def __init__(self, tap: WatchedOrigin, channel: Channel, arrival: Arrival) -> None:
        super().__init__(tap, channel, arrival)
        self._sockets = tap.sockets

    def _receive(self) -> Piece | None:
        begun, sockets, ends = time.monotonic(), self._sockets, ends_of(self.arrival)
        while not self.tap.stop.is_set() and (silent_s := time.monotonic() - begun) < IDLE_S:
            piece = self.channel.receive(pause_s(silent_s))
            if piece is None:
                sockets.look(ends)
                continue
            if piece.data and not sockets.nodelay(ends):
                sockets.look(ends, anew=True)
            return piece
        return None


class WatchedOrigin(Origin):
    """An origin whose conversations are watched."""

    conversation = Watched

    def __init__(self, scheme: str, sockets: Sockets) -> None:
        self.sockets = sockets
        super().__init__(scheme)
