"""A run that failed is judged again when nothing else runs: a fault of the client comes back, one caused by a busy
machine does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from onewrite_conformance.run.result import Result, Status

__all__ = ["DECIDES", "MOST", "UNSETTLED", "majority", "settle"]

DECIDES = 3  # failures, or passes, that decide: the majority of five tries
MOST = 60  # more failures than this are not caused by a busy machine
UNSETTLED = frozenset({Status.DEVIATES, Status.FAULT, Status.WARNS})

Found = TypeVar("Found")


def majority(again: Callable[[], Found | None], decides: int = DECIDES) -> tuple[Found | None, int, int]:
    """Try until `decides` tries found something or as many found nothing.

    Returns (what was found last, or None when the majority found nothing; tries that found; all tries).
    """
    last: Found | None = None
    found = tries = 0
    while found < decides and tries - found < decides:
        tries += 1
        one = again()
        if one is not None:
            last = one
            found += 1
    return (last if found == decides else None), found, tries


def settle(result: Result, again: Callable[[], Result]) -> None:
    """Judge `result` again until it is decided; it then says how often it failed."""
    first = (result.problems or [result.status])[0]
    others: list[Result] = []

    def failed() -> Result | None:
        others.append(again())
        return others[-1] if others[-1].status in UNSETTLED else None

    stayed, failures, tries = majority(failed)
    result.failed_tries, result.tries = failures + 1, tries + 1
    told = f"failed {result.failed_tries} of {result.tries}"
    last = stayed or next(one for one in reversed(others) if one.status not in UNSETTLED)
    result.status, result.level = last.status, last.level
    result.problems, result.blamed = last.problems, last.blamed
    result.notes = [f"{told}, alone on the machine" if stayed else f"{told}, settled; at first: {first}", *last.notes]
