"""Samples the TCP sockets of a process and its children, and adds up what was seen of each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.probe import authority
from onewrite_lab.witness import SocketReading, connections

from onewrite_cli.common.run import name_of
from onewrite_cli.common.sockets import COSTS_TIME, cause_of

__all__ = ["HOLD_MS", "WatchedSocket", "Watcher"]

#: Bytes that wait although nothing left for so long: no network of one host and no busy machine explains that often.
HOLD_MS = 20
SEVERAL = 2
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
    held_bytes: int = 0  # the most in one hold
    causes: Counter[str] = field(default_factory=Counter)  # of the holds: those of the contract, and cork
    longest_ms: dict[str, int] = field(default_factory=dict)  # a hold, by cause
    busy: bool = False  # it sent something while it was watched
    open: bool = True
    _holding: str = ""  # the cause
    _sent: int = 0
    _free: tuple[float, SocketReading] | None = None  # the last time that nothing was unsent

    @property
    def name(self) -> str:
        """The port that accepted it, or the peer."""
        return f"in :{self.local_port}" if self.direction == "in" else f"out {authority(self.peer, self.peer_port)}"

    @property
    def holds(self) -> int:
        return self.causes.total()

    @property
    def own_holds(self) -> int:
        """The holds that the process itself can end, where these are most; else 0."""
        own = sum(self.causes[cause] for cause in COSTS_TIME)
        return own if own * 2 >= self.holds else 0

    def note(self, reading: SocketReading) -> None:
        self.busy = self.busy or reading.bytes_sent > self._sent
        self._sent = reading.bytes_sent
        self.nodelay = reading.nodelay
        now = time.monotonic()
        if self._free is None or not reading.not_sent:
            self._free = now, reading
        holding = reading.not_sent > 0 and reading.last_data_sent_ms >= HOLD_MS
        if not holding:
            self._holding = ""
            return
        at, free = self._free
        cause = cause_of(reading, free, (now - at) * 1e6, nodelay=reading.nodelay)
        if cause != self._holding:  # a hold is what it is at its end
            self.causes -= Counter([self._holding])
            self.causes[cause] += 1
            self._holding = cause
        self.held_bytes = max(self.held_bytes, reading.not_sent)
        self.longest_ms[cause] = max(self.longest_ms.get(cause, 0), reading.last_data_sent_ms)


class Watcher:
    """`sample()` as often as wanted; `sockets` has all that were ever seen."""

    def __init__(self, roots: Callable[[], list[int]]) -> None:
        self.pid, self._roots = roots()[0], roots
        self.sockets: list[WatchedSocket] = []
        self.samples = 0
        self._open: dict[tuple[int, str, int], WatchedSocket] = {}

    def found(self) -> list[WatchedSocket]:
        """Those with holds of their own, which may be short connections with one hold each; one hold in all may be chance."""
        found = [one for one in self.sockets if one.own_holds]
        return found if sum(one.own_holds for one in found) >= SEVERAL else []

    def sample(self) -> None:
        """Raises WitnessError, and ProcessLookupError when the process has ended."""
        readings = _connections_of(self._roots())
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


def _connections_of(roots: list[int]) -> list[SocketReading]:
    """Those of these processes and their children. Raises WitnessError, ProcessLookupError when the only one has ended."""
    readings: list[SocketReading] = []
    for root in roots:
        try:
            readings += connections(root, 0)
        except ProcessLookupError:
            if len(roots) == 1:
                raise
    return readings


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
