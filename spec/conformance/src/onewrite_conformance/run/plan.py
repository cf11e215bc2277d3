"""In which order shares are judged: the longest first, and a worker stays with the adapter whose drivers it has."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from onewrite_conformance.contract.cases import Case

__all__ = ["Plan", "Share", "length_s"]

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
    milliseconds = _times(case.server)
    for step in case.do:
        milliseconds += _times(step) * (step.get("warmup", 0) + step.get("repeat", 1))
    return RUN_S + milliseconds / 1000 + (START_S if case.env else 0.0)


def _times(value: Any) -> float:
    if isinstance(value, dict):
        here = sum(time for name, time in value.items() if name.endswith("_ms") and isinstance(time, (int, float)))
        return here + sum(_times(inner) for inner in value.values())
    return sum(_times(inner) for inner in value) if isinstance(value, list) else 0.0


class Plan:
    """Hands out shares to workers, which are told apart by a number."""

    def __init__(self, shares: list[Share]) -> None:
        self._left: dict[str, deque[Share]] = {}
        for share in sorted(shares, key=lambda share: -share.seconds):
            self._left.setdefault(share.adapter, deque()).append(share)
        self._at: dict[int, str] = {}  # the adapter of each worker

    def next(self, worker: int) -> Share | None:
        """The next share for this worker, or None when there is none for it."""
        if not self._left.get(self._at.get(worker, "")):
            self._at.pop(worker, None)
            others = Counter(self._at.values())
            left = {name: sum(share.seconds for share in shares) for name, shares in self._left.items()}
            open_ = [name for name in left if left[name] >= LEAST_S or (self._left[name] and not others[name])]
            if not open_:
                return None
            self._at[worker] = max(open_, key=lambda name: left[name] / (1 + others[name]))
        return self._left[self._at[worker]].popleft()
