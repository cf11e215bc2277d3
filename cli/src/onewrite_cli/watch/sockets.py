"""Samples the TCP sockets of a process and its children, and adds up what was seen of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.witness import SocketReading, connections

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
    open: bool = True
    _holding: bool = False
    _sent: bool = False

    @property
    def name(self) -> str:
        """What a ledger calls it: the port that accepted it, or the peer."""
        host = f"[{self.peer}]" if ":" in self.peer else self.peer
        return f"in :{self.local_port}" if self.direction == "in" else f"out {host}:{self.peer_port}"

    def note(self, reading: SocketReading) -> None:
        # Before it sends anything, its process may still set the option, and Nagle's algorithm holds nothing.
        self.changed = self.changed or (self._sent and reading.nodelay != self.nodelay)
        self._sent = reading.bytes_sent > 0
        self.nodelay = reading.nodelay
        self.was_off = self.was_off or (self._sent and not reading.nodelay)
        holding = reading.not_sent > 0 and reading.last_data_sent_ms >= HOLD_MS
        if holding:
            self.holds += not self._holding
            self.held_bytes = max(self.held_bytes, reading.not_sent)
        self._holding = holding


class Watcher:
    """`sample()` as often as wanted; `sockets` has all that were ever seen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.sockets: dict[tuple[int, str, int], WatchedSocket] = {}
        self.samples = 0

    def sample(self) -> None:
        """Raises WitnessError, and ProcessLookupError when the process has ended."""
        readings = connections(self.pid, 0)
        self.samples += 1
        seen = set()
        listening: set[int] | None = None
        for reading in readings:
            key = (reading.local_port, reading.peer, reading.peer_port)
            seen.add(key)
            watched = self.sockets.get(key)
            if watched is None or not watched.open:
                listening = _listening_ports(self.pid) if listening is None else listening
                watched = self.sockets[key] = WatchedSocket(
                    _name(reading.pid),
                    "in" if reading.local_port in listening else "out",
                    reading.local_port,
                    reading.peer.removeprefix("::ffff:"),
                    reading.peer_port,
                    reading.nodelay,
                )
            watched.note(reading)
        for key, watched in self.sockets.items():
            watched.open = key in seen


def _name(pid: int) -> str:
    try:
        return f"{Path(f'/proc/{pid}/comm').read_text().strip()} {pid}"
    except OSError:
        return str(pid)


def _listening_ports(pid: int) -> set[int]:
    """Those of the process's network namespace: a connection on one of them was accepted."""
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
