"""In which order shares are judged: the longest first, and a worker stays with the client whose drivers it has."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onewrite_conformance.contract.cases import Case

__all__ = ["Plan", "Share", "length_s", "times"]

RUN_S = 0.3  # a run that waits for nothing
HANG_MS = 2000  # a time limit from here on is there for a client that hangs
START_S = 1.0  # the drivers of one client kind, started for one environment
LEAST_S = 20.0  # for less, no second worker starts the drivers of a client
STAY = 2.0  # how much less may be left of an adapter whose drivers a worker has


@dataclass
class Share:
    """Runs of one adapter's client, kinds for the syscall witness, or a `task` whose value is the result.

    `seconds` is a guess of what they take.
    """

    adapter: str
    client: str = ""
    paths: list[str] = field(default_factory=list)
    traced_kinds: list[str] = field(default_factory=list)
    seconds: float = START_S
    task: Callable[[], Any] | None = None

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
    workers take a lane, and the lane with the most left comes first. How long a lane takes is measured on the shares
    that came back, by `clock` (seconds).
    """

    def __init__(self, shares: list[Share], most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._left: dict[tuple[str, str], deque[Share]] = {}
        for share in sorted(shares, key=lambda share: -share.seconds):
            self._left.setdefault(share.lane, deque()).append(share)
        self._most, self._clock = most, clock
        self._at: dict[int, tuple[Share, float]] = {}  # what each worker has, and since when
        # Seconds of the shares that came back, by lane.
        self._guessed: dict[tuple[str, str], float] = defaultdict(float)
        self._took: dict[tuple[str, str], float] = defaultdict(float)

    def next(self, worker: int) -> Share | None:
        """The next share for this worker, or None when there is none for it."""
        had, since = self._at.pop(worker, (None, 0.0))
        if had is not None:
            self._guessed[had.lane] += had.seconds
            self._took[had.lane] += self._clock() - since
        lane = had.lane if had is not None and self._left[had.lane] else self._choose(had.adapter if had else None)
        if lane is None:
            return None
        share = self._left[lane].popleft()
        self._at[worker] = share, self._clock()
        return share

    def _choose(self, adapter: str | None) -> tuple[str, str] | None:
        """The lane with the most left for each worker that it would have, rather of the worker's last adapter."""
        others = Counter(share.lane for share, _ in self._at.values())
        left = {lane: self._seconds(lane) for lane, shares in self._left.items() if shares}
        open_ = [lane for lane in left if not others[lane] or (left[lane] >= LEAST_S and others[lane] < self._most)]
        return max(
            open_,
            key=lambda lane: left[lane] / (1 + others[lane]) * (STAY if lane[0] == adapter else 1.0),
            default=None,
        )

    def _seconds(self, lane: tuple[str, str]) -> float:
        pace = self._took[lane] / self._guessed[lane] if self._guessed[lane] else 1.0
        return pace * sum(share.seconds for share in self._left[lane])
