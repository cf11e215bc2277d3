"""Measures all groups, and those with an unclear verdict again, at most twice."""

from __future__ import annotations

from collections.abc import Sequence

from onewrite_bench.console import Console
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.scenario import Group
from onewrite_bench.verdict import judge as verdict
from onewrite_bench.verdict.results import Cell, Verdict
from onewrite_bench.verdict.rule import STALLS, Rule
from onewrite_bench.verdict.settle import Earlier

__all__ = ["MEASUREMENTS", "measure"]

MEASUREMENTS = 3


def measure(
    engine: PostEngine, groups: Sequence[Group], console: Console, cells: list[Cell], rule: Rule = STALLS
) -> Earlier:
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
        unclear = [line for line in rule.judge(mine) if _worth_another(line)]
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
    """A missing driver is not tried again; one that failed may have run out of memory or time."""
    if line.details.get("certain"):
        return False
    return line.state in (*verdict.FAULTS, "slow", "slower", "inconclusive") or bool(line.details.get("failed"))
