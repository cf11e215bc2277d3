"""What `compare` says: a row per client, the verdicts, and how to read them."""

from __future__ import annotations

from onewrite_bench.report.table import Table
from onewrite_bench.report.wording import verdict_line
from onewrite_bench.verdict import machine, regress, stats
from onewrite_bench.verdict.results import Cell, Run

__all__ = ["markdown", "table", "text"]

NOTE = (
    "Of the base: medians over rounds of what the head took, divided by what the base took in the same round, with "
    "95 % bootstrap intervals. The base of itself: a second process of the base, the control. Slower is who takes "
    f"{regress.MARGIN} times as long as both processes of the base, in average and in p75, in each of three "
    "measurements."
)

_HEADINGS = (
    "client",
    "average of the base",
    "p75 of the base",
    "base's average of itself",
    "its p75",
    "CPU of the base",
    "segments then",
    "now",
)


def table(run: Run) -> Table:
    rows = []
    for group in dict.fromkeys(cell.group for cell in run.cells):
        cells = {cell.role: cell for cell in run.cells if cell.group == group}
        head, base, again = (cells[role] for role in regress.ROLES)
        if not (head.measured and base.measured and again.measured):
            rows.append([group, *["-"] * 7])
            continue
        mine, control = regress.ratios(head, base), regress.ratios(again, base)
        rows.append(
            [
                group,
                *(str(mine[name]) for name in regress.METRICS),
                *(f"{control[name].median:.2f}" for name in regress.METRICS),
                _cpu(head, base),
                *("-" if one.segments_mode is None else f"{one.segments_mode:.2f}" for one in (base, head)),
            ]
        )
    return Table(_HEADINGS, rows)


def _cpu(head: Cell, base: Cell) -> str:
    ratio = stats.bootstrap_ratio(head.extra.get("cpu_us", []), base.extra.get("cpu_us", []))
    return "-" if ratio is None else f"{ratio[0]:.2f}"


def text(run: Run) -> str:
    verdicts = [verdict_line(line) for line in run.verdicts]
    lines = ["", run.title, "", table(run).text(), "", *verdicts, "", f"({NOTE})", f"({machine.line(run.machine)})"]
    return "\n".join(lines)


def markdown(run: Run) -> str:
    verdicts = "\n".join(f"- {verdict_line(line)}" for line in run.verdicts)
    parts = [f"## {run.title}", table(run).markdown(), verdicts, NOTE, f"`{run.command}`, {machine.line(run.machine)}."]
    return "\n\n".join(parts) + "\n"
