"""For tests in Python: a server that counts how the requests of a client in the same process arrive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onewrite_lab.certificates import shared as certificates
from onewrite_lab.tap import Exchange

from onewrite_cli.check.watched import WatchedOrigin, ends_of
from onewrite_cli.common.sockets import Sockets

__all__ = ["Counted", "CountingServer", "counting_server"]


@dataclass(frozen=True)
class Counted:
    """One request. `segments` is None off Linux, `records` without TLS, `nodelay` where it could not be read."""

    method: str
    path: str
    body: bytes
    connection: int
    segments: int | None
    records: int | None
    nodelay: bool | None


@dataclass
class CountingServer:
    """Answers 200 to everything. `ca_file` is the PEM to trust, for https."""

    url: str
    ca_file: str | None
    _origin: WatchedOrigin
    _sockets: Sockets

    @property
    def requests(self) -> list[Counted]:
        """Those that have come so far, in their order."""
        return [self._counted(exchange) for exchange in list(self._origin.exchanges) if exchange.complete]

    def _counted(self, exchange: Exchange) -> Counted:
        request, arrival = exchange.request, exchange.arrival
        counts = exchange.segments, exchange.records, self._sockets.nodelay(ends_of(arrival))
        return Counted(request.method, request.path, bytes(request.body), arrival.index, *counts)


@contextmanager
def counting_server(*, tls: bool = False) -> Iterator[CountingServer]:
    """Serve on a port of the kernel's choice, until the block ends."""
    sockets = Sockets(lambda: [os.getpid()])
    origin = WatchedOrigin("https" if tls else "http", sockets, keeps_bodies=True)
    try:
        yield CountingServer(origin.url, certificates().ca_file if tls else None, origin, sockets)
    finally:
        origin.close()
        sockets.close()
