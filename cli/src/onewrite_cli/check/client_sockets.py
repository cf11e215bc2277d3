"""Reads TCP_NODELAY from the command's own sockets, from outside, at each connection's first request."""

from __future__ import annotations

import threading

from onewrite_lab.tap import Arrival
from onewrite_lab.witness import AVAILABLE as WITNESS_AVAILABLE
from onewrite_lab.witness import SocketReading, WitnessError, connections

__all__ = ["ClientSockets"]

START_S = 10.0  # the most that a request waits until the process that made it is known
NOT_FOUND = "no process of the command owns the connections (a container, a daemon or another user?)"


class ClientSockets:
    """Those of the command while it runs. `fault` says why nothing could be read."""

    def __init__(self, pid: int | None = None) -> None:
        self._pid = pid
        self._known = threading.Event()
        self._known.set()
        self.fault: str | None = None if WITNESS_AVAILABLE else "reading another process's sockets needs Linux"
        self.nodelay: dict[tuple[int, int], list[bool]] = {}  # readings by (client's port, server's port)

    def starting(self) -> None:
        """The command is about to be started: its first request may come before its pid is known here."""
        self._known.clear()

    def started(self, pid: int | None) -> None:
        """As this process; None when it has ended."""
        self._pid = pid
        self._known.set()

    def look(self, arrival: Arrival, again: bool) -> None:
        """Note TCP_NODELAY of the client's end of this connection: once, and `again` when its requests have gaps."""
        key = (arrival.peer_port, arrival.local_port)
        if key in self.nodelay and not again:
            return
        reading = self._read(arrival)
        if reading is not None:
            self.nodelay.setdefault(key, []).append(reading.nodelay)

    def holds(self, arrival: Arrival) -> bool:
        """True if bytes that the client wrote are still in its kernel."""
        reading = self._read(arrival)
        return reading is not None and reading.not_sent > 0

    def _read(self, arrival: Arrival) -> SocketReading | None:
        if not WITNESS_AVAILABLE:
            return None
        self._known.wait(START_S)
        if self._pid is None:
            return None
        try:
            # Other sockets may be between connect(2) and setsockopt(2): only this socket has made its request.
            for reading in connections(self._pid, arrival.local_port):
                if reading.local_port == arrival.peer_port:
                    return reading
            self.fault = NOT_FOUND
        except ProcessLookupError:
            self.fault = NOT_FOUND
        except WitnessError as error:
            self.fault = str(error)
        return None

    def of(self, client_port: int, server_port: int) -> bool | None:
        """False if it was ever off, None if it was never read."""
        readings = self.nodelay.get((client_port, server_port))
        return all(readings) if readings else None

    def changed(self, client_port: int, server_port: int) -> bool:
        return len(set(self.nodelay.get((client_port, server_port), ()))) > 1
