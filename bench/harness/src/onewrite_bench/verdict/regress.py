"""Judges a revision (`head`) beside another (`base`), from turns that they took in one run.

The base runs in two processes. What its second one (`again`) differs from the first is the machine's doing, so it is
the control: a regression must be slower than both, by a wide margin, in the average and in the 75th percentile, round
by round. An average alone follows one hiccup, a percentile alone misses what few requests suffer. More segments, a lost
TCP_NODELAY, failing requests and stalls are counted, and judged apart from time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onewrite_bench.verdict import stats
from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Cell, Verdict
from onewrite_bench.verdict.settle import Earlier

__all__ = ["GROSS", "MARGIN", "ROLES", "Ratio", "exit_status", "gross", "judge", "ratios", "settle"]

ROLES = ("head", "base", "again")

MARGIN = 1.25
"""How many times as long as both runs of the base a regression takes."""

GROSS = 5
"""How many times as long as both runs of the base a head takes that needs no further round."""

GROSS_ROUNDS = 2

STALLED_MORE = 0.10
"""How much larger a share of requests over 30 ms is a stall."""

SEGMENTS_MORE = 0.1
"""How many more segments per POST are a split: a retransmission that is miscounted is far below it."""

RED = {*FAULTS, "slower"}

METRICS: dict[str, Callable[[Sequence[float]], float]] = {
    "average": lambda samples: sum(samples) / len(samples),
    "p75": lambda samples: stats.percentile(samples, 75),
}


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds' ratios, and its 95 % bootstrap interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def rounds(cell: Cell) -> list[list[int]]:
    """The latencies of each round. `extra["round"]` is how many requests a round has."""
    size = int(cell.extra["round"])
    return [cell.latencies_us[at : at + size] for at in range(0, len(cell.latencies_us), size)]


def ratios(first: Cell, second: Cell) -> dict[str, Ratio]:
    """By metric: `first` over `second`, of rounds that followed each other. Empty where there is nothing to compare."""
    found = {}
    for name, metric in METRICS.items():
        seen = stats.bootstrap_ratio([metric(one) for one in rounds(first)], [metric(one) for one in rounds(second)])
        if seen is not None:
            found[name] = Ratio(*seen)
    return found


def gross(cells: Sequence[Cell]) -> bool:
    """Whether the head took `GROSS` times as long as both processes of the base, by the median, round after round."""
    of = {cell.role: cell for cell in cells}
    if set(of) != set(ROLES) or not all(cell.measured and "round" in cell.extra for cell in of.values()):
        return False
    medians = [[stats.percentile(one, 50) for one in rounds(of[role])] for role in ROLES]
    taken = list(zip(*medians, strict=False))
    return len(taken) >= GROSS_ROUNDS and all(head > GROSS * max(base, again) for head, base, again in taken)


def judge(cells: Sequence[Cell]) -> list[Verdict]:
    """One verdict per group."""
    return [
        _judge({cell.role: cell for cell in cells if cell.group == group})
        for group in dict.fromkeys(cell.group for cell in cells)
    ]


def _judge(cells: dict[str, Cell]) -> Verdict:
    head, base, again = (cells[role] for role in ROLES)
    details: dict[str, object] = {"group": head.group}
    old = next((cell for cell in (base, again) if not cell.measured), None)
    if old is not None:
        why = old.failed or old.skipped or old.error_sample or "nothing was measured"
        details["failed"] = bool(old.failed)
        # What the base never had cannot have become worse.
        return Verdict(head.group, "not run", f"at the base: {why}", old.skipped is None, details)
    if head.skipped or head.failed:
        details["failed"] = bool(head.failed)
        return Verdict(head.group, "not run", head.failed or head.skipped or "", True, details)
    counted = _counted(head, base, again)
    if counted:
        details |= {"faults": [kind for kind, _ in counted], "certain": any(kind in CERTAIN for kind, _ in counted)}
        return Verdict(head.group, counted[0][0], "; ".join(text for _, text in counted), True, details)
    if gross((head, base, again)):
        times = [stats.percentile(cell.latencies_us, 50) / 1000 for cell in (head, base)]
        text = f"p50 {times[0]:.2f} ms, {times[1]:.2f} ms at the base, in each of {len(rounds(head))} rounds"
        return Verdict(head.group, "slower", text, True, {**details, "certain": True})
    if not head.measured:
        return Verdict(head.group, "inconclusive", "nothing was measured", True, details)
    control, one, other = ratios(again, base), ratios(head, base), ratios(head, again)
    told = ", ".join(f"{name} {one[name]}" for name in METRICS)
    beside = ", ".join(f"{control[name].median:.2f}" for name in METRICS)
    text = f"{told} of the base; the base of itself {beside}"
    noisy = [name for name in METRICS if _spread(control[name]) > MARGIN]
    if noisy:
        return Verdict(head.group, "inconclusive", f"the machine is too busy to tell: {text}", True, details)
    slower = all(
        min(one[name].median, other[name].median) > MARGIN * _spread(control[name])
        and min(one[name].low, other[name].low) > 1
        for name in METRICS
    )
    return Verdict(head.group, "slower" if slower else "clean", text, True, details)


CERTAIN = {"splits", "nodelay off"}
"""Counted by the kernel: a busy machine changes nothing about it."""


def _counted(head: Cell, base: Cell, again: Cell) -> list[tuple[str, str]]:
    """What is worse by count: (kind, how it is said), worst first."""
    found = []
    share = max(base.share_over or 0.0, again.share_over or 0.0)
    if head.measured and (head.share_over or 0.0) > share + STALLED_MORE:
        found.append(
            (
                "stalls",
                f"{head.share_over:.0%} of its requests over {head.stall_us // 1000} ms, {share:.0%} at the base",
            )
        )
    if head.errors > max(base.errors, again.errors):
        found.append(("fails", f"{head.errors} requests failed ({head.error_sample})"))
    now, then = head.segments_mode, base.segments_mode
    if now is not None and then is not None and now > then + SEGMENTS_MORE:
        found.append(("splits", f"{now:.2f} segments per POST, {then:.2f} at the base"))
    lost = head.connections - head.connections_nodelay
    if lost > base.connections - base.connections_nodelay:
        found.append(("nodelay off", f"{lost} of {head.connections} connections without TCP_NODELAY"))
    return found


def _spread(ratio: Ratio) -> float:
    """How far a ratio of equals is from 1, either way, as a factor of 1 or more."""
    return max(ratio.median, 1 / ratio.median)


def settle(verdicts: Sequence[Verdict], earlier: Earlier, busy: Callable[[], bool]) -> None:
    """Red needs measurements that all agree; one of them that is clean is enough to be clean, else inconclusive."""
    for line in verdicts:
        states = [*earlier.get(line.subject, []), line.state]
        if len(states) > 1:
            line.text += f" (measured {len(states)} times: {', '.join(states)})"
        if line.state in RED and not line.details.get("certain") and not all(state in RED for state in states):
            line.state = "inconclusive"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """0 nothing is worse, 1 something is, 2 not everything could be compared."""
    counting = [line for line in verdicts if line.counts]
    if any(line.state in RED for line in counting):
        return 1
    return 0 if counting and all(line.state == "clean" for line in counting) else 2
