"""Measures all groups, and those with an unclear verdict or a driver that broke down again, at most twice."""

from __future__ import annotations

from collections.abc import Sequence

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import FAULT
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.scenario import Group
from onewrite_bench.verdict.judge import MEASUREMENTS, judge
from onewrite_bench.verdict.results import Cell, Verdict

__all__ = ["MEASUREMENTS", "measure", "unclear"]


def measure(engine: PostEngine, groups: Sequence[Group], console: Console, cells: list[Cell]) -> dict[str, list[str]]:
    """Run all groups, then again those with an unclear verdict; return the states of earlier measurements by group.

    `cells` fills up meanwhile and keeps the last measurement of each group.
    """
    earlier: dict[str, list[str]] = {}
    order = [group.name for group in groups]
    engine.run(groups, cells.extend)
    for _ in range(MEASUREMENTS - 1):
        mine = [cell for cell in cells if cell.group in order]
        doubtful = [line for line in judge(mine) if unclear(line)]
        again = {line.group for line in doubtful}
        if not again or engine.stopped:
            break
        console.line(f"{', '.join(line.group for line in doubtful)}: not clean; measuring again")
        second: list[Cell] = []
        engine.run([group for group in groups if group.name in again], second.extend)
        for line in doubtful:
            earlier.setdefault(line.group, []).append(line.state)
        mine = [cell for cell in mine if cell.group not in again] + second
        mine.sort(key=lambda cell: order.index(cell.group))
        cells[:] = [cell for cell in cells if cell.group not in order] + mine
    return earlier


def unclear(line: Verdict) -> bool:
    """A busy machine may hold a driver until it counts as hung. A driver that is missing or stale stays so."""
    broke = line.state == "not run" and line.text.startswith(FAULT)
    return broke or (line.state in ("faulty", "mixed", "inconclusive") and not line.certain)
