"""Plays a script with stock and with the adapter in turn, and compares the plays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from onewrite_conformance.checks.same import Play, differences, shown
from onewrite_conformance.contract.cases import Run
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_conformance.run.play import play

__all__ = ["PLAYS", "Compared", "Comparison", "compare", "first_of"]

PLAYS = 3
AGAIN = 8  # further plays of both where they differ, in
AGAIN_S = 10.0  # no more time than this
LEAST = 2  # so many of the further plays must differ, too

Trace = Callable[[str], None]
Start = Callable[[], Driver]


@dataclass
class Compared:
    """`problems` came again. `wavered` did not: a difference in k of n plays, with its text."""

    problems: list[str] = field(default_factory=list)
    wavered: str = ""


class Comparison:
    """The plays of one script, by stock and by an adapter's client."""

    def __init__(
        self, run: Run, driver: Start, stock: Start, facets: Sequence[str], trace: Trace | None = None
    ) -> None:
        """`driver` and `stock` give a driver that is alive."""
        self.run, self.facets = run, facets
        self._driver, self._stock, self._trace = driver, stock, trace
        apis, others = (one().hello.get("apis") or [None] for one in (driver, stock))
        api = run.case.open.get("api") or apis[0]
        # The API through which stock plays, if it is not stock's first.
        self._api = api if api in others and api != others[0] else None
        self.ours: list[Play] = []
        self.theirs: list[Play] = []

    @property
    def ways(self) -> list[bool]:
        """Without and with hooks. A case that sets hooks, environment or options of the adapter has its own way."""
        case = self.run.case
        own = case.env or case.open.keys() & {"hooks", "adapter"} or any("api" in step for step in case.do)
        return [False] if own or "timing" not in self._driver().capabilities else [False, True]

    def play(self, ways: Sequence[bool]) -> None:
        """One play of stock, and one of the adapter in each of these ways.

        Raises DriverSkipped where stock itself never ends: there is nothing to compare with.
        """
        run, even = self.run, self.run.case.even
        try:
            theirs = play(run.by_stock(), self._stock(), self._trace, self._api)
        except DriverFault as fault:
            if fault.kind == "hung":
                raise DriverSkipped(f"stock: {fault.detail}") from fault
            raise
        self.theirs.append(shown(theirs, even))
        for hooks in ways:
            seen = play(run, self._driver(), self._trace, hooks="timing" if hooks else None)
            self.ours.append(shown(seen, even, hooks=hooks))

    def that_differ(self, first: int = 0) -> list[Play]:
        """The plays of the adapter, from the `first` on, that show something no play of stock shows."""
        return [one for one in self.ours[first:] if differences([one], self.theirs, self.facets)]

    def compared(self, times: int = AGAIN) -> Compared:
        """Where they differ, play on: a difference counts if it comes again in `LEAST` further plays of the adapter."""
        ways = sorted({one.hooks for one in self.that_differ()})
        first, deadline = len(self.ours), time.monotonic() + AGAIN_S
        texts = self.texts(self.that_differ())
        for turn in range(times):
            again = len(self.that_differ(first))
            always = again == len(self.ours) - first
            if not self.that_differ() or (turn > LEAST and (always or time.monotonic() > deadline)):
                break
            self.play(ways)
        stay, differ = self.that_differ(first), self.that_differ()
        if len(stay) >= LEAST:
            return Compared(self.texts(differ))
        if not differ:  # a later play of stock shows the same
            return Compared()
        often = f"differed in {len(differ)} of {len(self.ours)} plays"
        return Compared(wavered=f"{often}: {first_of(self.texts(differ) or texts)}")

    def texts(self, differ: list[Play]) -> list[str]:
        """The differences, side by side."""
        return differences(differ, self.theirs, self.facets, self.run.client, of=len(self.ours))


def first_of(texts: list[str]) -> str:
    """The first difference, and the facets of the others."""
    others = ", ".join(text.partition(":")[0] for text in texts[1:])
    return texts[0] + (f"\nand also in {others}" if others else "")


def compare(
    run: Run, driver: Start, stock: Start, facets: Sequence[str], plays: int = PLAYS, trace: Trace | None = None
) -> Compared:
    """Play with stock, with the adapter without hooks, and with hooks, `plays` times each; where they differ, more.

    A play of the adapter differs if no play of stock shows the same. Raises DriverFault and DriverSkipped.
    """
    comparison = Comparison(run, driver, stock, facets, trace)
    for _ in range(plays):
        comparison.play(comparison.ways)
    return comparison.compared()
