"""Reads TCP_NODELAY from the command's own sockets, from outside, at each connection's first request."""

from __future__ import annotations

import os

from onewrite_cli.judge import WITNESS_AVAILABLE, Arrival, WitnessError, connections

__all__ = ["ClientSockets"]

NOT_FOUND = "no process of the command owns the connections (a container, a daemon or another user?)"


class ClientSockets:
    """`pid` is the running command's, and None between its runs. `fault` says why nothing could be read."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.fault: str | None = None if WITNESS_AVAILABLE else "reading another process's sockets needs Linux"
        self.nodelay: dict[tuple[int, int], bool] = {}  # (client's port, server's port)

    def look(self, arrival: Arrival) -> None:
        """Note TCP_NODELAY of the client's end of this connection, once."""
        key = (arrival.peer_port, arrival.local_port)
        if not WITNESS_AVAILABLE or self.pid is None or key in self.nodelay:
            return
        try:
            # Others may be between connect(2) and setsockopt(2): only this one has made its request.
            for reading in connections(self.pid, arrival.local_port):
                if reading.local_port == arrival.peer_port:
                    self.nodelay[key] = reading.nodelay
        except (WitnessError, ProcessLookupError) as error:
            self.fault = str(error) if isinstance(error, WitnessError) else NOT_FOUND
            return
        if key not in self.nodelay:
            self.fault = NOT_FOUND

    def of(self, client_port: int, server_port: int) -> bool | None:
        return self.nodelay.get((client_port, server_port))

    @staticmethod
    def own() -> ClientSockets:
        """One that watches this very process: for clients that run inside it, as in a test."""
        sockets = ClientSockets()
        sockets.pid = os.getpid()
        return sockets
