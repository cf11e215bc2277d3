"""The rules that judge cells: each client's verdict, what several measurements mean, and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onewrite_bench.verdict import judge, regress, settle
from onewrite_bench.verdict.results import Cell, Verdict

__all__ = ["REGRESSIONS", "STALLS", "Rule"]


@dataclass(frozen=True)
class Rule:
    judge: Callable[[Sequence[Cell]], list[Verdict]]
    settle: Callable[[Sequence[Verdict], settle.Earlier, Callable[[], bool]], None]
    exit_status: Callable[[Sequence[Verdict]], int]
    enough: Callable[[Sequence[Cell]], bool] | None = None
    """Whether some rounds say so much that the others are not needed."""


STALLS = Rule(judge.judge, settle.settle, judge.exit_status)
"""An adapter beside a control that stalls."""

REGRESSIONS = Rule(regress.judge, regress.settle, regress.exit_status, regress.gross)
"""A revision beside another."""
