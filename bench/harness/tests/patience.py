"""For checks whose times depend on the machine."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["tries"]


def tries(check: Callable[[], None], times: int = 3) -> None:
    """Run a check until it holds: a busy machine may pause a few times, a defect comes back each time."""
    for _ in range(times - 1):
        try:
            return check()
        except AssertionError:
            continue
    return check()
