"""What the timing keeps of one connection between its requests."""

from __future__ import annotations

import itertools
import os
import typing

_ids = itertools.count(1)


class Connection:
    """One socket, as records number it, and what the last request left."""

    __slots__ = ("conn_id", "counted", "idle_since", "info", "process", "requests", "sock")

    def __init__(self, sock: typing.Any) -> None:
        self.sock = sock
        self.conn_id = next(_ids)
        #: The process that opened it. A record that a forked child inherits is its parent's.
        self.process = os.getpid()
        self.requests = 0
        #: Monotonic time of the last release, in nanoseconds; 0 before the first.
        self.idle_since = 0
        #: Last TCP_INFO. Skipped for answers within 1 ms; then *counted* is False and segments are unknown.
        self.info: bytes | None = None
        self.counted = True
