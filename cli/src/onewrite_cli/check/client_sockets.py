"""Reads the command's own sockets from outside: TCP_NODELAY at each connection's first request, and bytes that are held.

A reading that fails skips a rule. It never raises into the traffic of the command.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from onewrite_lab.tap import Arrival, Channel, Conversation
from onewrite_lab.tap.channel import Piece
from onewrite_lab.tap.conversation import IDLE_S
from onewrite_lab.witness import AVAILABLE, SocketReading

from onewrite_cli.common.holds import Hold, Holds, pause_s, sockets_of
from onewrite_cli.common.origin import Origin

__all__ = ["ClientSockets", "Watched", "WatchedOrigin"]

START_S = 10.0  # the most that a request waits until the process that made it is known
FRESH_S = 0.004  # one reading serves all connections for so long
NOT_FOUND = "no process of the command owns the connections (a container or another user?)"
Key = tuple[int, int]  # the client's port, the server's port


class ClientSockets:
    """Those of the command while it runs. `fault` says why nothing could be read."""

    def __init__(self, roots: Callable[[], list[int]] | None = None) -> None:
        self._roots = roots
        self._known = threading.Event()
        self._known.set()
        self._reading = threading.Lock()
        self._last: tuple[float, int, list[SocketReading]] = (0.0, 0, [])
        self._nodelay: dict[Key, list[bool]] = defaultdict(list)
        self._holds: dict[Key, Holds] = defaultdict(Holds)
        self.fault: str | None = None if AVAILABLE else "reading another process's sockets needs Linux"

    def starting(self) -> None:
        """The command is about to be started: its first request may come before its pid is known here."""
        self._known.clear()

    def started(self, roots: Callable[[], list[int]] | None) -> None:
        """Its processes are these and their children; None when it has ended."""
        self._roots = roots
        self._known.set()

    def look(self, arrival: Arrival, *, anew: bool = False) -> None:
        """Read the client's end of this connection; `anew` takes no reading that others just made."""
        if not AVAILABLE:
            return
        try:
            reading = self._read(arrival, anew)
        except ProcessLookupError:
            reading, self.fault = None, NOT_FOUND
        except Exception as error:
            self.fault = str(error) or type(error).__name__
            return
        if reading is None:
            return
        key = (arrival.peer_port, arrival.local_port)
        self._holds[key].note(reading)
        if reading.bytes_sent or reading.not_sent:  # before that, its process may still set the option
            self._nodelay[key].append(reading.nodelay)

    def _read(self, arrival: Arrival, anew: bool) -> SocketReading | None:
        self._known.wait(START_S)
        if self._roots is None:
            return None
        with self._reading:
            at, port, readings = self._last
            begun = time.monotonic()
            if anew or begun - at > FRESH_S or port != arrival.local_port:
                readings = sockets_of(self._roots(), arrival.local_port)
                self._last = (time.monotonic(), arrival.local_port, readings)
        for reading in readings:
            if reading.local_port == arrival.peer_port:
                return reading
        self.fault = NOT_FOUND
        return None

    @property
    def any_read(self) -> bool:
        return bool(self._nodelay)

    def nodelay(self, arrival: Arrival) -> list[bool]:
        """Its readings; none where it was never read."""
        return self._nodelay.get((arrival.peer_port, arrival.local_port), [])

    def lost(self, arrival: Arrival, since_ns: int, times_ns: Sequence[int]) -> tuple[int, Hold | None]:
        """The longest silence between the pieces of a request, and the longest hold.

        Bytes can also be held before the first piece, from `since_ns` on. None where the socket was not read in the silence.
        """
        holds = self._holds[(arrival.peer_port, arrival.local_port)]
        first = holds.ended(since_ns, times_ns[0]) or Hold()
        gap_ns, since_ns = max(((b - a, a) for a, b in pairwise(times_ns)), default=(0, 0))
        between = holds.ended(since_ns, since_ns + gap_ns) if gap_ns else Hold()
        held = first if between is None or first.ns > between.ns else between
        return gap_ns, None if between is None and not first.ns else held


class Watched(Conversation):
    """A conversation that reads the client's socket with the first bytes, and while nothing comes."""

    def __init__(self, tap: WatchedOrigin, channel: Channel, arrival: Arrival) -> None:
        super().__init__(tap, channel, arrival)
        self._sockets = tap.sockets

    def _receive(self) -> Piece | None:
        begun, sockets = time.monotonic(), self._sockets
        while not self.tap.stop.is_set() and (silent_s := time.monotonic() - begun) < IDLE_S:
            piece = self.channel.receive(pause_s(silent_s))
            if piece is None:
                sockets.look(self.arrival)
                continue
            if piece.data and not sockets.nodelay(self.arrival):
                sockets.look(self.arrival, anew=True)
            return piece
        return None


class WatchedOrigin(Origin):
    """An origin whose conversations are watched."""

    conversation = Watched

    def __init__(self, scheme: str, sockets: ClientSockets) -> None:
        self.sockets = sockets
        super().__init__(scheme)
