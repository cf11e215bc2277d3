"""What is known of one connection between its requests."""

from __future__ import annotations

import itertools
import typing

_ids = itertools.count(1)


class Connection:
    """One socket, as records number it, what the last request left, and whether one is under way."""

    __slots__ = (
        "__weakref__", "_closed", "_finished", "conn_id", "idle_since", "info", "peer", "requests", "sock",
        "watchers",
    )  # fmt: skip

    def __init__(self, sock: typing.Any, peer: tuple[str, int | None] | None = None) -> None:
        self.sock = sock
        #: Host and port; None where the seam has none.
        self.peer = peer
        self.conn_id = next(_ids)
        self.requests = 0
        #: Monotonic time of the last release, in nanoseconds; 0 before the first.
        self.idle_since = 0
        #: The kernel's reading at the last answer: nothing was sent since, so it is the next request's baseline.
        self.info: bytes | None = None
        #: Each is called with this object once, when the connection was closed and no request is under way on it.
        self.watchers: tuple[typing.Callable[[Connection], None], ...] = ()
        self._closed = False
        #: Number of the last request that is over.
        self._finished = 0

    @property
    def active(self) -> bool:
        """Whether a request is under way."""
        return self.requests > self._finished

    def released(self, number: int) -> None:
        """The request of that *number* is over; a pool may have given the connection to the next one by now."""
        self._finished = max(self._finished, number)
        if self._closed and not self.active:
            self._over()

    def closed(self) -> None:
        """The connection was closed; a response that is still read from it keeps its socket open."""
        self._closed = True
        if not self.active:
            self._over()

    def _over(self) -> None:
        watchers, self.watchers = self.watchers, ()
        for watcher in watchers:
            watcher(self)

    def is_open(self) -> bool:
        """Whether its socket is open, whoever may have closed it."""
        if self._closed and not self.active:
            return False
        try:
            return self.sock is None or self.sock.fileno() >= 0
        except Exception:  # a socket of a kind that says so in this way
            return False
