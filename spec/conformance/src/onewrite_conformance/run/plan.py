"""In which order shares are judged: the longest first, and a worker stays with the adapter whose drivers it has."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onewrite_conformance.contract.cases import Case

__all__ = ["Plan", "Share", "length_s", "times"]

RUN_S = 0.1  # a run that waits for nothing
START_S = 1.0  # the drivers of one client kind, started for one environment
LEAST_S = 10.0  # for less, no worker starts the drivers of another adapter


@dataclass
class Share:
    """Runs of one adapter, or its client kinds for the syscall witness; `seconds` is a guess of what they take."""

    adapter: str
    paths: list[str] = field(default_factory=list)
    traced_kinds: list[str] = field(default_factory=list)
    seconds: float = START_S


def length_s(case: Case) -> float:
    """A guess of what a run of this case takes: all times that it names. Only the order of runs depends on it."""
    milliseconds = times(case.server)
    for step in case.do:
        milliseconds += times(step) * (step.get("warmup", 0) + step.get("repeat", 1))
    return RUN_S + milliseconds / 1000 + (START_S if case.env else 0.0)


def times(value: Any) -> float:
    """The milliseconds that a part of a case names, all together."""
    if isinstance(value, dict):
        here: float = sum(
            time for name, time in value.items() if name.endswith("_ms") and isinstance(time, (int, float))
        )
        here += value.get("interim_gap_ms", 0) * (len(value.get("interim", ())) - 1)
        return here + sum(times(inner) for inner in value.values())
    return sum(times(inner) for inner in value) if isinstance(value, list) else 0.0


class Plan:
    """Hands out shares to workers, which are told apart by a number; at most `most` of them judge the same adapter.

    Each worker has drivers of its own, and to start and warm them up costs more than to judge by them: a JVM's first
    second is its dearest. So few workers take an adapter, and the one that has the most left comes first; how long it
    takes in fact is learned from the shares that came back, read from `clock` (seconds).
    """

    def __init__(self, shares: list[Share], most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._left: dict[str, deque[Share]] = {}
        for share in sorted(shares, key=lambda share: -share.seconds):
            self._left.setdefault(share.adapter, deque()).append(share)
        self._most, self._clock = most, clock
        self._at: dict[int, tuple[Share, float]] = {}  # what each worker has, and since when
        # Seconds of the shares that came back, by adapter.
        self._guessed: dict[str, float] = defaultdict(float)
        self._took: dict[str, float] = defaultdict(float)

    def next(self, worker: int) -> Share | None:
        """The next share for this worker, or None when there is none for it."""
        had, since = self._at.pop(worker, (None, 0.0))
        if had is not None:
            self._guessed[had.adapter] += had.seconds
            self._took[had.adapter] += self._clock() - since
        name = had.adapter if had is not None and self._left[had.adapter] else self._choose()
        if name is None:
            return None
        share = self._left[name].popleft()
        self._at[worker] = share, self._clock()
        return share

    def _choose(self) -> str | None:
        """The adapter that has the most left for each worker that it would then have."""
        others = Counter(share.adapter for share, _ in self._at.values())
        left = {name: self._seconds(name) for name, shares in self._left.items() if shares}
        open_ = [name for name in left if not others[name] or (left[name] >= LEAST_S and others[name] < self._most)]
        return max(open_, key=lambda name: left[name] / (1 + others[name]), default=None)

    def _seconds(self, name: str) -> float:
        pace = self._took[name] / self._guessed[name] if self._guessed[name] else 1.0
        return pace * sum(share.seconds for share in self._left[name])
