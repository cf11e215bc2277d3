"""The stall rule: when a client counts as stalled, and when a run proves nothing.

Times are compared with two controls of the same run. One splits its requests with Nagle on and must stall. The other
makes one write with TCP_NODELAY on and cannot stall. Shares decide, never a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median

__all__ = ["CONTROL_SHARE", "STALL_MS", "control_line", "control_stalls", "says_nothing", "stalls"]

STALL_MS = 30
"""Longer than this counts as late: below Linux's shortest delayed ACK (40 ms), far above a clean call over loopback."""

CONTROL_SHARE = 0.6
"""A control has stalled when at least this share of its requests was late."""

GOOD_SHARE = 0.3
"""A client that cannot stall may be late this often on a busy machine. Above it the run says nothing."""

LEAST_RATIO = 20
LEAST_NS = 100_000
"""A control that stalled took at least 20 times as long as the good one, of which 0.1 ms at least is believed."""


def control_stalls(share: float) -> bool:
    """Whether the control stalled, by the share of its requests that were late."""
    return share >= CONTROL_SHARE


def says_nothing(good: float) -> bool:
    """Whether the machine is too busy, by the share of late requests of a client that cannot stall."""
    return good > GOOD_SHARE


def stalls(share: float, good: float) -> bool:
    """Whether a client stalls, by its share of late requests beside that of a client that cannot."""
    return share > good + GOOD_SHARE


def control_line(split_ns: Sequence[int], single_ns: Sequence[int]) -> tuple[float, str, str | None]:
    """The line between short and long, from what the two controls took: half of what the bad one lost.

    Returns (the least time in ns that is a stall, the controls in words, the reason why there is no verdict, or None).
    """
    if not split_ns or not single_ns:
        return inf, "a control has no times", "the control was not answered"
    control_ns, good_ns = median(split_ns), median(single_ns)
    line_ns = control_ns / 2
    stalled = sum(gap >= line_ns for gap in split_ns)
    late = sum(gap >= line_ns for gap in single_ns)
    lost = f"{control_ns / 1e6:.1f} ms, the one that writes once {good_ns / 1e6:.1f} ms"
    beside = f"the control that splits with Nagle on lost {lost}"
    problem = None
    if control_ns < LEAST_RATIO * max(good_ns, LEAST_NS):
        problem = "the control did not stall"
    elif not control_stalls(stalled / len(split_ns)):
        problem = f"the control stalled in {stalled} of {len(split_ns)} requests only"
    elif late > (1 - CONTROL_SHARE) * len(single_ns):
        problem = "too noisy"
    return line_ns, beside, problem
