"""Plays a script with stock and with the adapter in turn, and compares the plays."""

from __future__ import annotations

import time
from collections.abc import Callable

from onewrite_conformance.checks.same import Shown, differences, shown
from onewrite_conformance.contract.cases import Run
from onewrite_conformance.driver import Driver
from onewrite_conformance.run.play import play

__all__ = ["PLAYS", "api_of", "compare"]

PLAYS = 3
AGAIN = 8  # further plays of both where they differ, in
AGAIN_S = 10.0  # no more time than this
LEAST = 2  # so many of the further plays must differ, too

Trace = Callable[[str], None]


def api_of(driver: Driver, stock: Driver, wanted: str | None = None) -> str | None:
    """The API through which stock plays, if it is not stock's first."""
    apis = driver.hello.get("apis") or [None]
    others = stock.hello.get("apis") or [None]
    api = wanted or apis[0]
    return api if api in others and api != others[0] else None


def compare(
    run: Run, driver: Driver, stock: Driver, facets: list[str], plays: int = PLAYS, trace: Trace | None = None
) -> list[str]:
    """The differences, side by side. Every second play of the adapter has hooks, if the driver has any.

    A play of the adapter differs if no play of stock shows the same. That counts if it comes again in further plays.
    Raises DriverFault and DriverSkipped.
    """
    api = api_of(driver, stock, run.case.open.get("api"))
    boundary = "boundary" in run.case.even
    # Where hooks are not called, a driver would wait for each record in vain.
    case = run.case
    hooked = not (case.env or case.open.keys() & {"hooks", "adapter"} or any("api" in step for step in case.do))
    ours: list[Shown] = []
    theirs: list[Shown] = []

    def both(times: int, until: Callable[[], bool] = lambda: False) -> None:
        for _ in range(times):
            if until():
                return
            theirs.append(shown(play(run.by_stock(), stock, trace, api), boundary))
            hooks = "timing" if hooked and len(ours) % 2 == (plays > 1) else None
            ours.append(shown(play(run, driver, trace, hooks=hooks), boundary))

    def that_differ(first: int = 0) -> list[Shown]:
        return [one for one in ours[first:] if differences([one], theirs, facets)]

    def settled() -> bool:
        further = len(ours) - plays
        always = further > LEAST and len(that_differ(plays)) == further
        return not that_differ() or always or (further >= LEAST and time.monotonic() > deadline)

    both(plays)
    deadline = time.monotonic() + AGAIN_S
    both(AGAIN, settled)
    stay = that_differ(plays)
    return differences(stay, theirs, facets, run.client) if len(stay) >= LEAST else []
