"""Samples the TCP sockets of a process and its children, and adds up what was seen of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.witness import SocketReading, connections

from onewrite_cli.common.origin import authority
from onewrite_cli.common.run import name_of

__all__ = ["HOLD_MS", "WatchedSocket", "Watcher"]

#: Bytes that wait although nothing left for so long: no network of one host and no busy machine explains that often.
HOLD_MS = 20
LISTENING = "0A"


@dataclass
class WatchedSocket:
    """One connection, over all samples. `direction` is in for an accepted one."""

    process: str
    direction: str
    local_port: int
    peer: str
    peer_port: int
    nodelay: bool
    changed: bool = False
    was_off: bool = False
    held_bytes: int = 0  # the most in one hold
    holds: int = 0
    nagle_holds: int = 0  # with Nagle's algorithm on, of less than a segment, behind a segment that is not acknowledged
    busy: bool = False  # it sent something while it was watched
    open: bool = True
    _holding: bool = False
    _sent: int = 0

    @property
    def name(self) -> str:
        """The port that accepted it, or the peer."""
        return f"in :{self.local_port}" if self.direction == "in" else f"out {authority(self.peer, self.peer_port)}"

    def note(self, reading: SocketReading) -> None:
        # Before it sends anything, its process may still set the option, and Nagle's algorithm holds nothing.
        self.changed = self.changed or (self._sent > 0 and reading.nodelay != self.nodelay)
        self.busy = self.busy or reading.bytes_sent > self._sent
        self._sent = reading.bytes_sent
        self.nodelay = reading.nodelay
        self.was_off = self.was_off or (self._sent > 0 and not reading.nodelay)
        holding = reading.not_sent > 0 and reading.last_data_sent_ms >= HOLD_MS
        if holding and not self._holding:
            self.holds += 1
            # More, or with nothing on its way, waits for the peer's window.
            self.nagle_holds += not reading.nodelay and reading.unacked > 0 and reading.not_sent < reading.mss
        if holding:
            self.held_bytes = max(self.held_bytes, reading.not_sent)
        self._holding = holding


class Watcher:
    """`sample()` as often as wanted; `sockets` has all that were ever seen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.sockets: list[WatchedSocket] = []
        self.samples = 0
        self._open: dict[tuple[int, str, int], WatchedSocket] = {}

    def sample(self) -> None:
        """Raises WitnessError, and ProcessLookupError when the process has ended."""
        readings = connections(self.pid, 0)
        listening: set[int] | None = None
        before, self._open = self._open, {}
        for reading in readings:
            key = (reading.local_port, reading.peer, reading.peer_port)
            watched = before.pop(key, None)
            if watched is None:
                listening = _listening_ports(self.pid) if listening is None else listening
                watched = WatchedSocket(
                    f"{name_of(reading.pid)} {reading.pid}",
                    "in" if reading.local_port in listening else "out",
                    reading.local_port,
                    reading.peer.removeprefix("::ffff:"),
                    reading.peer_port,
                    reading.nodelay,
                )
                # What it had sent before the first sample was not watched.
                watched._sent = 0 if self.samples else reading.bytes_sent
                self.sockets.append(watched)
            watched.note(reading)
            self._open[key] = watched
        for watched in before.values():
            watched.open = False
        self.samples += 1


def _listening_ports(pid: int) -> set[int]:
    """The listening ports of the process's network namespace: a connection on such a port was accepted."""
    ports = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, _, state, *_ = line.split()
            if state == LISTENING:
                ports.add(int(local.rpartition(":")[2], 16))
    return ports
