"""Repeats checks whose times depend on the machine."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["tries"]


def tries(check: Callable[[], None], times: int = 3) -> None:
    """Run a check until it passes: a busy machine fails it now and then, a defect every time."""
    for _ in range(times - 1):
        try:
            return check()
        except AssertionError:
            continue
    return check()
