"""The stall rule of the bench, its gate and the command: when a request is late, and when a run proves nothing.

Two controls run beside the client. The splitting control writes head and body apart with Nagle on, and must stall. The
raw socket makes one write with TCP_NODELAY on, and cannot stall.

A request is late if it took longer than the line: the raw socket's median, and half of the time that the splitting
control took beyond it. A client is clean if at most 5 % of its requests are late. It stalls if at least 60 % are.
Between the two it is mixed. Shares decide, never a mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

__all__ = [
    "CLEAN_SHARE",
    "CONTROL_SHARE",
    "LEAST_MS",
    "control_line",
    "control_stalls",
    "is_clean",
    "late_line",
    "median",
    "modes",
    "word",
]

CLEAN_SHARE = 0.05
"""A client is clean while at most this share of its requests is late."""

CONTROL_SHARE = 0.6
"""A client stalls when at least this share of its requests is late. The splitting control must."""

LEAST_MS = 30
"""A stall is longer than this: below Linux's shortest delayed ACK (40 ms), far above a clean call over loopback."""

LEAST_RATIO = 20
LEAST_NS = 100_000
"""A control that stalled took at least 20 times as long as the raw socket, of which 0.1 ms at least is believed."""


def median(values: Iterable[float]) -> float:
    """As statistics.median, whose import takes 10 ms of the start of a command. Raises IndexError for no value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def late_line(split: float, single: float, least: float = 0.0) -> float:
    """The time above which a request is late, from the medians of the splitting control and of the raw socket.

    All times have the caller's unit. `least` is the shortest wait of the control that counts as a stall: where the
    control lost less, half of `least` stands in for half of what it lost.
    """
    return single + max(split - single, least) / 2


def is_clean(late: int, of: int) -> bool:
    """Whether a client is clean with `late` of `of` requests. One late request never decides."""
    return late <= max(1, of * CLEAN_SHARE)


def control_stalls(late: int, of: int) -> bool:
    """Whether enough requests of the splitting control were late."""
    return of > 0 and late >= of * CONTROL_SHARE


def word(late: int, of: int) -> str:
    """`clean`, `mixed` or `stalls`."""
    return "clean" if is_clean(late, of) else "stalls" if control_stalls(late, of) else "mixed"


def modes(times: Sequence[float], line: float) -> tuple[float | None, float | None]:
    """The medians of the times up to the line and of those above it; None where there is none."""
    quick, late = ([one for one in times if (one > line) is side] for side in (False, True))
    return (median(quick) if quick else None, median(late) if late else None)


def control_line(split_ns: Sequence[int], single_ns: Sequence[int]) -> tuple[float, str, str | None]:
    """The line of two controls over loopback, from what each took.

    Returns (the line in ns, the controls in words, the reason why there is no verdict, or None).
    """
    if not split_ns or not single_ns:
        return inf, "a control has no times", "the control was not answered"
    control_ns, good_ns = median(split_ns), median(single_ns)
    line_ns = late_line(control_ns, good_ns)
    stalled = sum(gap > line_ns for gap in split_ns)
    late = sum(gap > line_ns for gap in single_ns)
    lost = f"{control_ns / 1e6:.1f} ms, the one that writes once {good_ns / 1e6:.1f} ms"
    beside = f"the control that splits with Nagle on lost {lost}"
    problem = None
    if control_ns < LEAST_RATIO * max(good_ns, LEAST_NS):
        problem = "the control did not stall"
    elif not control_stalls(stalled, len(split_ns)):
        problem = f"the control stalled in {stalled} of {len(split_ns)} requests only"
    elif not is_clean(late, len(single_ns)):
        problem = f"the machine is too busy: {late} of {len(single_ns)} requests of the raw socket were late"
    return line_ns, beside, problem
