"""Reads the sockets of other processes: TCP_NODELAY at each connection's first bytes, and bytes that are held.

A reading that fails skips a rule. It never raises into the traffic.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from onewrite_lab.witness import AVAILABLE, SocketReading

from onewrite_cli.common.holds import Hold, Holds, sockets_of

__all__ = ["Ends", "Sockets"]

START_S = 10.0  # the most that a reading waits until the process that made the connection is known
FRESH_S = 0.004  # one reading serves all connections for so long
NOT_FOUND = "no process of the command owns the connections (a container or another user?)"
Ends = tuple[int, int]  # of a connection: the command's port, the tool's port


class Sockets:
    """Those of the command while it runs. `fault` says why one could not be read; `roots` names its processes."""

    def __init__(self, roots: Callable[[], list[int]] | None = None) -> None:
        self._roots = roots
        self._known = threading.Event()
        self._known.set()
        self._reading = threading.Lock()
        self._last: tuple[float, int, list[SocketReading]] = (0.0, 0, [])
        self._nodelay: dict[Ends, list[bool]] = defaultdict(list)
        self._holds: dict[Ends, Holds] = defaultdict(Holds)
        self.fault: str | None = None if AVAILABLE else "reading another process's sockets needs Linux"

    def starting(self) -> None:
        """The command is about to be started: its first request may come before its pid is known here."""
        self._known.clear()

    def started(self, roots: Callable[[], list[int]] | None) -> None:
        """Its processes are these and their children; None when it has ended."""
        self._roots = roots
        self._known.set()

    def look(self, ends: Ends, *, anew: bool = False) -> SocketReading | None:
        """Read the command's end of this connection; `anew` takes no reading that others just made."""
        if not AVAILABLE:
            return None
        try:
            reading = self._read(ends, anew)
        except ProcessLookupError:
            reading, self.fault = None, NOT_FOUND
        except Exception as error:
            reading, self.fault = None, str(error) or type(error).__name__
        if reading is not None:
            self._holds[ends].note(reading)
            if reading.bytes_sent or reading.not_sent:  # before that, its process may still set the option
                self._nodelay[ends].append(reading.nodelay)
        return reading

    def _read(self, ends: Ends, anew: bool) -> SocketReading | None:
        self._known.wait(START_S)
        if self._roots is None:
            return None
        theirs, ours = ends
        with self._reading:
            at, port, readings = self._last
            begun = time.monotonic()
            if anew or begun - at > FRESH_S or port != ours:
                readings = sockets_of(self._roots(), ours)
                self._last = (time.monotonic(), ours, readings)
        for reading in readings:
            if reading.local_port == theirs:
                return reading
        self.fault = NOT_FOUND
        return None

    @property
    def may_be_found(self) -> bool:
        """False where nothing can be read, at any time."""
        return self.fault in (None, NOT_FOUND)

    @property
    def any_read(self) -> bool:
        return bool(self._nodelay)

    def nodelay(self, ends: Ends) -> list[bool]:
        """Its readings; none where it was never read."""
        return self._nodelay.get(ends, [])

    def lost(self, ends: Ends, since_ns: int, times_ns: Sequence[int]) -> tuple[int, Hold | None]:
        """The longest silence between the pieces of a message, and the longest hold.

        Bytes can also be held before the first piece, from `since_ns` on. None where the socket was not read in the silence.
        """
        holds = self._holds[ends]
        first = holds.ended(since_ns, times_ns[0]) or Hold()
        gap_ns, since_ns = max(((b - a, a) for a, b in pairwise(times_ns)), default=(0, 0))
        between = holds.ended(since_ns, since_ns + gap_ns) if gap_ns else Hold()
        held = first if between is None or first.ns > between.ns else between
        return gap_ns, None if between is None and not first.ns else held
