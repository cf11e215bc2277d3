"""For tests in Python: a server that counts how the requests of a client in the same process arrive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onewrite_lab.certificates import shared as certificates

from onewrite_cli.check.client_sockets import ClientSockets
from onewrite_cli.common.origin import Origin

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


class CountingServer:
    """Answers 200 to everything. `ca_file` is the PEM to trust, for https."""

    def __init__(self, origin: Origin, sockets: ClientSockets, ca_file: str | None) -> None:
        self._origin, self._sockets = origin, sockets
        self.url = origin.url
        self.ca_file = ca_file

    @property
    def requests(self) -> list[Counted]:
        """Those that have come so far, in their order."""
        return [
            Counted(
                exchange.request.method,
                exchange.request.path,
                bytes(exchange.request.body),
                exchange.arrival.index,
                exchange.segments,
                exchange.records,
                self._sockets.of(exchange.arrival.peer_port, exchange.arrival.local_port),
            )
            for exchange in list(self._origin.exchanges)
            if exchange.complete
        ]


@contextmanager
def counting_server(*, tls: bool = False) -> Iterator[CountingServer]:
    """Serve on a port of the kernel's choice, until the block ends."""
    sockets = ClientSockets.own()
    origin = Origin("https" if tls else "http", sockets.look)
    try:
        yield CountingServer(origin, sockets, certificates().ca_file if tls else None)
    finally:
        origin.close()
