"""Plays a script with stock and with the adapter, and compares the plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from onewrite_conformance.checks.same import Play, differences, summary_of
from onewrite_conformance.checks.timing import record_problems, timed
from onewrite_conformance.contract.cases import Run
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_conformance.run.play import play

__all__ = ["compare"]

MORE = 3  # plays of stock beside the first where the adapter's differ: stock may leave something to chance

Trace = Callable[[str], None]
Start = Callable[[], Driver]


def compare(run: Run, driver: Start, stock: Start, facets: Sequence[str], trace: Trace | None = None) -> list[str]:
    """The differences between stock and the adapter, without and with hooks, and what is wrong with the records.

    A play of the adapter differs if no play of stock shows the same. `driver` and `stock` give a driver that is alive.
    Raises DriverFault, and DriverSkipped where stock itself never ends: there is nothing to compare with.
    """
    by_stock = partial(_stock_play, run, stock, _common_api(run, driver, stock), trace)
    theirs = [by_stock()]
    ours: list[Play] = []
    problems: list[str] = []
    for hooks in _ways(run, driver()):
        seen = play(run, driver(), trace, hooks="timing" if hooks else None)
        ours.append(summary_of(seen, run.case.ignore, hooks=hooks))
        problems += [f"records: {one}" for one in record_problems(seen)] if timed(seen) else []
    if _differing(ours, theirs, facets):
        theirs += [by_stock() for _ in range(MORE)]
    return differences(_differing(ours, theirs, facets), theirs, facets, run.client) + problems


def _differing(ours: list[Play], theirs: list[Play], facets: Sequence[str]) -> list[Play]:
    return [one for one in ours if differences([one], theirs, facets)]


def _ways(run: Run, driver: Driver) -> list[bool]:
    """Without and with hooks. A case that sets hooks, environment or options of the adapter has its own way."""
    own = run.case.env or run.case.open.keys() & {"hooks", "adapter"}
    return [False] if own or "timing" not in driver.capabilities else [False, True]


def _common_api(run: Run, driver: Start, stock: Start) -> str | None:
    """The API through which stock plays, if it is not stock's first."""
    apis, others = (one().hello.get("apis") or [None] for one in (driver, stock))
    api = run.case.open.get("api") or apis[0]
    return api if api in others and api != others[0] else None


def _stock_play(run: Run, stock: Start, api: str | None, trace: Trace | None) -> Play:
    try:
        return summary_of(play(run.by_stock(), stock(), trace, api), run.case.ignore)
    except DriverFault as fault:
        if fault.kind == "hung":
            raise DriverSkipped(f"stock: {fault.detail}") from fault
        raise
