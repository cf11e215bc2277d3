"""Judges a failed run again, alone: a fault of the client comes back, a fault of a busy machine does not."""

from __future__ import annotations

from collections.abc import Callable

from onewrite_conformance.run.result import Result, Status

__all__ = ["MOST", "TIMES", "UNSETTLED", "settle"]

TIMES = 3  # a failed run must pass so often
MOST = 10  # more failures than this are not judged again
UNSETTLED = frozenset({Status.DEVIATES, Status.FAULT, Status.WARNS})


def settle(result: Result, again: Callable[[], Result]) -> None:
    """Judge `result` again: it fails if it fails once more; it is unsteady if it never does."""
    first = (result.problems or [result.status])[0]
    for result.tries in range(2, TIMES + 2):
        last = again()
        stayed = last.status in UNSETTLED
        if stayed:
            break
    result.failed_tries = 2 if stayed else 1
    times = f"failed {result.failed_tries} of {result.tries}"
    result.status, result.level = last.status, last.level
    result.problems, result.wavered = last.problems, last.wavered or result.wavered
    result.notes = [f"{times}, alone on the machine" if stayed else f"{times}, settled; at first: {first}", *last.notes]
