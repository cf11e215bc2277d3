"""Plays a script with stock and with the adapter in turn, and compares what each play showed."""

from __future__ import annotations

import time
from collections.abc import Callable

from onewrite_conformance.checks.same import Shown, differences, shown
from onewrite_conformance.contract.cases import Run
from onewrite_conformance.driver import Driver
from onewrite_conformance.run.play import play

__all__ = ["PLAYS", "api_of", "compare"]

PLAYS = 3
STOCK_TRIES = 8  # further plays of stock, where the adapter showed something else
STOCK_S = 3.0  # and no longer than so

Trace = Callable[[str], None]


def api_of(driver: Driver, stock: Driver, wanted: str | None = None) -> str | None:
    """The API by which stock plays what this driver plays, where it is not stock's first."""
    apis = driver.hello.get("apis") or [None]
    others = stock.hello.get("apis") or [None]
    api = wanted or apis[0]
    return api if api in others and api != others[0] else None


def compare(
    run: Run, driver: Driver, stock: Driver, facets: list[str], plays: int = PLAYS, trace: Trace | None = None
) -> list[str]:
    """The differences, side by side. Every second play of the adapter has hooks, if the driver has any.

    What differs is played three times in any case. Raises DriverFault and DriverSkipped.
    """
    api = api_of(driver, stock, run.case.open.get("api"))
    boundary = "boundary" in run.case.even
    ours: list[Shown] = []
    theirs: list[Shown] = []

    def again(mine: bool) -> list[str]:
        theirs.append(shown(play(run.by_stock(), stock, trace, api), boundary))
        if mine:
            hooks = "timing" if len(ours) % 2 == (plays > 1) and not run.case.hooks else None
            ours.append(shown(play(run, driver, trace, hooks=hooks), boundary))
        return differences(ours, theirs, facets, run.client)

    found: list[str] = []
    while len(ours) < plays or (found and len(ours) < PLAYS):
        found = again(mine=True)
    deadline = time.monotonic() + STOCK_S
    for _ in range(STOCK_TRIES):
        if not found or time.monotonic() > deadline:
            break
        found = again(mine=False)
    return found
