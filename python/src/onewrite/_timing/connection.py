"""What the timing keeps of one connection between its requests."""

from __future__ import annotations

import itertools
import typing

_ids = itertools.count(1)


class Connection:
    """One socket, as records number it, and what the last request left."""

    __slots__ = ("conn_id", "counted", "idle_since", "info", "requests", "sock")

    def __init__(self, sock: typing.Any) -> None:
        self.sock = sock
        self.conn_id = next(_ids)
        self.requests = 0
        #: Monotonic time of the last release, in nanoseconds; 0 before the first.
        self.idle_since = 0
        #: The kernel's last reading, made before the first request or at an answer. An answer that came so soon that
        #: nothing can have been sent again is not worth one; *counted* says that there was none since.
        self.info: bytes | None = None
        self.counted = True
