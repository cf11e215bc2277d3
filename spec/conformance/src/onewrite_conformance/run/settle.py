"""Judges a failed run again, alone: a fault of the client comes back, a fault of a busy machine does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from onewrite_conformance.run.result import Result, Status

__all__ = ["MOST", "TIMES", "UNSETTLED", "comes_again", "settle"]

TIMES = 3  # a failed run must pass so often
MOST = 10  # more failures than this are not judged again
UNSETTLED = frozenset({Status.DEVIATES, Status.FAULT, Status.WARNS})

Found = TypeVar("Found")


def comes_again(again: Callable[[], Found | None], times: int = TIMES) -> tuple[Found | None, int]:
    """Try until `again` returns something, at most `times`. Return that, or None, and the number of tries."""
    for tries in range(1, times + 1):
        found = again()
        if found is not None:
            return found, tries
    return None, times


def settle(result: Result, again: Callable[[], Result]) -> None:
    """Judge `result` again: it fails if it fails once more; it is unsteady if it never does."""
    first = (result.problems or [result.status])[0]
    others: list[Result] = []

    def failed() -> Result | None:
        others.append(again())
        return others[-1] if others[-1].status in UNSETTLED else None

    stayed, tries = comes_again(failed)
    result.failed_tries, result.tries = (2 if stayed else 1), tries + 1
    times = f"failed {result.failed_tries} of {result.tries}"
    last = others[-1]
    result.status, result.level = last.status, last.level
    result.problems = last.problems
    result.notes = [f"{times}, alone on the machine" if stayed else f"{times}, settled; at first: {first}", *last.notes]
