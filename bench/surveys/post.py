"""The bench's raw client on one connection, with TCP_NODELAY and the number of writes chosen: the stall without any library."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.client import Connection, How
from onewrite_lab.witness import tcpinfo

__all__ = ["MODES", "Client", "Mode"]


@dataclass(frozen=True)
class Mode:
    """`gap_s` is a pause between head and body, as a client makes that prepares the body in between."""

    name: str
    nodelay: bool
    split: bool
    gap_s: float = 0


MODES = (Mode("nagle+split", False, True), Mode("nodelay+split", True, True), Mode("one write", False, False))


class Client:
    """One connection to 127.0.0.1 on which POSTs are sent in one of the `MODES`; over TLS where there is an authority."""

    def __init__(self, port: int, mode: Mode, *, size: int = 200, authority: Path | None = None) -> None:
        self.mode = mode
        how = How(
            nagle=not mode.nodelay,
            split=mode.split,
            gap_us=round(mode.gap_s * 1e6),
            authority=str(authority) if authority else None,
        )
        place = f"https://localhost:{port}/items" if authority else f"http://127.0.0.1:{port}/items"
        self._connection = Connection(place, how)
        self._body = b"x" * size
        self.sock: socket.socket = self._connection.connect()

    def post(self) -> float:
        """Sends one POST, reads the answer, returns the milliseconds between. Raises ValueError on an error status."""
        started = time.perf_counter()
        status = self._connection.post("POST", self._body)
        elapsed_ms = (time.perf_counter() - started) * 1000
        if status != 200:
            raise ValueError(f"answered {status}")
        return elapsed_ms

    def segments(self) -> int | None:
        info = tcpinfo.read(self.sock)
        return None if info is None else info.data_segs_out

    def close(self) -> None:
        self._connection.close()
