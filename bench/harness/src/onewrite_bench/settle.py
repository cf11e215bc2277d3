"""Measures what came out unclear once more, and says in the end what three measurements together show.

A busy machine can make any group look bad once. A defect comes back each time. So a group that is not clean is
measured again, at most twice, and is red only when every measurement found the same for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import verdict
from .console import Console
from .post import PostEngine
from .results import Cell, Verdict
from .scenario import Group

__all__ = ["MEASUREMENTS", "measure", "settle"]

MEASUREMENTS = 3

Earlier = dict[str, list[str]]
"""Per verdict's subject: what earlier measurements of its group came to."""


def measure(engine: PostEngine, groups: Sequence[Group], console: Console, cells: list[Cell]) -> Earlier:
    """Run all groups, then the unclear ones again. `cells` fills up while it runs and ends with the last of each."""
    earlier: Earlier = {}
    first: list[Cell] = []

    def publish(made: list[Cell]) -> None:
        first.extend(made)
        cells.extend(made)

    engine.run(groups, publish)
    order = [group.name for group in groups]
    for _ in range(MEASUREMENTS - 1):
        mine = [cell for cell in cells if cell.group in order]
        unclear = [line for line in verdict.judge(mine) if _worth_another(line)]
        names = {str(line.details["group"]) for line in unclear}
        if not names or engine.stopped:
            break
        console.say(f"{', '.join(line.subject for line in unclear)}: not clean; measuring again")
        second: list[Cell] = []
        engine.run([group for group in groups if group.name in names], second.extend)
        for line in unclear:
            earlier.setdefault(line.subject, []).append(line.state)
        mine = [cell for cell in mine if cell.group not in names] + second
        mine.sort(key=lambda cell: order.index(cell.group))
        cells[:] = [cell for cell in cells if cell.group not in order] + mine
    return earlier


def _worth_another(line: Verdict) -> bool:
    """A driver that is not there will not be there next time; one that broke down may have met a full machine."""
    if line.details.get("certain"):
        return False
    return line.state in ("stalls", "slow", "inconclusive") or bool(line.details.get("failed"))


def settle(verdicts: Sequence[Verdict], earlier: Earlier, busy: Callable[[], bool]) -> None:
    """Turn the last measurement's states into final ones: clean, stalls, inconclusive or not run."""
    for line in verdicts:
        before = earlier.get(line.subject, [])
        if line.state in ("clean", "shown", "not run"):
            if before and line.state == "clean":
                line.text += f" (measurement {len(before) + 1}; before: {', '.join(before)})"
            continue
        states = [*before, line.state]
        if line.details.get("certain"):
            continue
        if states == ["stalls"] * len(states):
            line.text += f" ({_times(states)})" if before else ""
        elif "inconclusive" in states:
            line.state = "inconclusive"
            line.text += f" ({_times(states)}: {', '.join(states)})" if before else ""
        elif line.details.get("calm") and not busy():
            line.state = "stalls"
            line.text += f" ({_times(states)}, on a quiet machine)"
        else:
            line.state = "inconclusive"
            line.text += f" ({_times(states)}, on a busy machine)"


def _times(states: Sequence[str]) -> str:
    return "measured once" if len(states) == 1 else f"measured {len(states)} times"
