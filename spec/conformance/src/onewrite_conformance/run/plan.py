"""In which order shares are judged: the longest first, and a worker stays with the client whose drivers it has."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onewrite_conformance.contract.cases import Case

__all__ = ["Plan", "Share", "length_s", "times"]

RUN_S = 0.3  # a run that waits for nothing
HANG_MS = 2000  # a time limit from here on is there for a client that hangs
START_S = 1.0  # the drivers of one client kind, started for one environment
LEAST_S = 20.0  # for less than this each, no further worker starts the drivers of a client
STAY = 2.0  # how much less may be left of an adapter whose drivers a worker has


@dataclass
class Share:
    """Runs of one adapter's client, a run under the syscall witness, or a `task` that gets the judge.

    `seconds` is a guess of what they take.
    """

    adapter: str
    client: str = ""
    paths: list[list[str]] = field(default_factory=list)  # of each list one is judged
    traced: bool = False
    seconds: float = START_S
    task: Callable[[Any], Any] | None = None

    @property
    def lane(self) -> tuple[str, str]:
        """Shares of one lane use the same drivers."""
        return self.adapter, self.client


def length_s(case: Case) -> float:
    """A guess of what a run of this case takes: all times that it names. Only the order of runs depends on it."""
    milliseconds = times(case.server)
    for step in case.do:
        milliseconds += times(step) * (step.get("warmup", 0) + step.get("repeat", 1))
    return RUN_S + milliseconds / 1000 + (START_S if case.env else 0.0)


def times(value: Any) -> float:
    """The milliseconds that a part of a case names, all together, without time limits that only a fault reaches."""
    if isinstance(value, dict):
        here: float = sum(
            time
            for name, time in value.items()
            if name.endswith("_ms")
            and isinstance(time, (int, float))
            and not (name == "timeout_ms" and time >= HANG_MS)
        )
        here += value.get("interim_gap_ms", 0) * (len(value.get("interim", ())) - 1)
        return here + sum(times(inner) for inner in value.values())
    return sum(times(inner) for inner in value) if isinstance(value, list) else 0.0


class Plan:
    """Hands out shares to workers, which have numbers; at most `most` of them work in the same lane.

    Each worker starts drivers, which costs more than judging by them: a JVM's first second is its dearest. So few
    workers take a lane, and the lane with the most left comes first.
    """

    def __init__(self, shares: list[Share], most: int) -> None:
        self._left: dict[tuple[str, str], deque[Share]] = {}
        for share in sorted(shares, key=lambda share: -share.seconds):
            self._left.setdefault(share.lane, deque()).append(share)
        self._most = most
        self._at: dict[int, tuple[str, str]] = {}  # the lane of each worker

    def next(self, worker: int) -> Share | None:
        """The next share for this worker, or None when there is none for it."""
        lane = self._at.pop(worker, None)
        if lane is None or not self._left[lane]:
            lane = self._choose(lane[0] if lane else None)
        if lane is None:
            return None
        self._at[worker] = lane
        return self._left[lane].popleft()

    def _choose(self, adapter: str | None) -> tuple[str, str] | None:
        """The lane with the most left for each worker that it would have, rather of the worker's last adapter."""
        others = Counter(self._at.values())
        each = {
            lane: sum(share.seconds for share in shares) / (1 + others[lane])
            for lane, shares in self._left.items()
            if shares
        }
        open_ = [lane for lane in each if not others[lane] or (each[lane] >= LEAST_S and others[lane] < self._most)]
        return max(open_, key=lambda lane: each[lane] * (STAY if lane[0] == adapter else 1.0), default=None)
