"""This run beside the one before it: what each adapter's row was then and is now."""

from __future__ import annotations

from onewrite_bench.report.table import Table
from onewrite_bench.units import milliseconds, size
from onewrite_bench.verdict.results import Cell, Run

__all__ = ["compared"]


def compared(run: Run, before: Run | None) -> tuple[str, Table] | None:
    """A sentence and a table, or None where there is nothing to compare with."""
    if before is None:
        return None
    rows = []
    worse = 0
    for cell in run.cells:
        then = _same(cell, before)
        if cell.role != "adapter" or not cell.measured or then is None or not then.measured:
            continue
        shares = [one.share_over or 0.0 for one in (then, cell)]
        worse += shares[1] > shares[0] + 0.1
        where = cell.target if cell.body_bytes == 200 else f"{cell.target}, {size(cell.body_bytes)}"
        times = [milliseconds((one.p50_ms or 0) * 1000) for one in (then, cell)]
        ratios = [_of_control(then, before), _of_control(cell, run)]
        segments = ["-" if one.segments_mode is None else f"{one.segments_mode:.2f}" for one in (then, cell)]
        rows.append([cell.group, cell.client, where, *times, *ratios, *(f"{share:.0%}" for share in shares), *segments])
    if not rows:
        return None
    headings = ("group", "client", "where", "p50 ms then", "now", "of control then", "now", "stalled then", "now")
    told = f"{worse} of {len(rows)} rows stall" if worse else f"None of {len(rows)} rows stalls"
    sentence = (
        f"Beside the run of {before.started_at[:16].replace('T', ' ')} UTC: {told} in 10 points more of its requests. "
        "Times are those of two moments of a machine; the share of the control's p50 is of the same moment."
    )
    return sentence, Table((*headings, "segments then", "now"), rows)


def _same(cell: Cell, run: Run) -> Cell | None:
    key = (cell.group, cell.client, cell.target, cell.body_bytes)
    return next((one for one in run.cells if (one.group, one.client, one.target, one.body_bytes) == key), None)


def _of_control(cell: Cell, run: Run) -> str:
    for one in run.cells:
        same = (one.group, one.target, one.body_bytes) == (cell.group, cell.target, cell.body_bytes)
        if same and one.role == "control" and one.measured and one.p50_ms and cell.p50_ms is not None:
            return f"{cell.p50_ms / one.p50_ms:.3f}"
    return "-"
