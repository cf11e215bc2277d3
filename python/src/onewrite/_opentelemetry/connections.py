"""How many connections are open, by server: looked up when a reader asks, never added up.

Each connection's own socket is asked, so the number is right whoever has closed it: the pool, a subclass's
``close``, the collector, or urllib3 after uninstall().
"""

from __future__ import annotations

import collections
import threading
import time
import typing
import weakref

from .._timing.connection import Connection

Server = tuple[str, int | None]

#: Servers without an open connection that are still reported, as 0; a crawler may reach any number.
MOST_SERVERS = 1000


class Connections:
    """The connections that have carried a request since the listener was made."""

    def __init__(self, ended: typing.Callable[[Server, float], None]) -> None:
        """*ended* is called with server and seconds of each connection that was seen from beginning to end."""
        self._ended = ended
        self._lock = threading.Lock()
        self._open: weakref.WeakKeyDictionary[Connection, tuple[Server, int | None]] = weakref.WeakKeyDictionary()
        #: Servers that were reported, and still are, with 0 if need be: else a reader would keep the last value.
        self._servers: set[Server] = set()
        #: Connections that were closed, and when.
        self._closed: collections.deque[tuple[Connection, int]] = collections.deque()

    def add(self, connection: Connection, server: Server, new: bool) -> None:
        """*connection* carries its first request that was seen; *new*: it was just opened."""
        connection.watchers = (*connection.watchers, self._over)
        self._settle()
        with self._lock:
            self._open[connection] = server, time.monotonic_ns() if new else None
            self._servers.add(server)

    def knows(self, connection: Connection) -> bool:
        """Whether *connection* was added."""
        return connection in self._open

    def _over(self, connection: Connection) -> None:
        # Reported later: the collector may have closed it while the SDK holds a lock.
        self._closed.append((connection, time.monotonic_ns()))

    def _settle(self) -> None:
        """Report the connections that were closed."""
        while self._closed:
            try:
                connection, closed = self._closed.popleft()
            except IndexError:  # another thread was faster
                return
            with self._lock:
                server, since = self._open.pop(connection, (("", None), None))
            if since is not None:
                self._ended(server, (closed - since) / 1e9)

    def counts(self) -> dict[tuple[Server, str], int]:
        """How many connections to each server are active (a request is under way) and idle."""
        self._settle()
        with self._lock:
            found = dict.fromkeys(((server, state) for server in self._servers for state in ("active", "idle")), 0)
            connections = list(self._open.items())
        for connection, (server, _) in connections:
            if connection.is_open():
                key = server, "active" if connection.active else "idle"
                found[key] = found.get(key, 0) + 1  # another thread may have left its server out meanwhile
        if len(self._servers) > MOST_SERVERS:
            with self._lock:
                self._servers = {server for (server, _), number in found.items() if number}
        return found
