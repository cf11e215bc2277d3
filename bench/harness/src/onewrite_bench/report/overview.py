"""The table that RESULTS.md begins with: which stock clients stall, what that becomes, and what a call costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onewrite_bench.report.table import Table
from onewrite_bench.units import milliseconds
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Cell, Run

__all__ = ["markdown"]

STALLED = ("proxy-env", "okhttp-tls", "okhttp-bodies", "post-stall")
"""Scenarios in which a stock client is its own control."""

COST = "per-call-cost"
HEADINGS = ("stock client", "where", "p50 ms", "with onewrite", "over 30 ms", "segments per POST", "CPU per call")


def markdown(runs: Sequence[Run]) -> str:
    """The table with its date and versions; empty where no run has a row for it."""
    of = {run.scenario: run for run in runs}
    rows = [row for name in STALLED if name in of for row in _stalled(of[name])]
    rows += list(_costs(of[COST])) if COST in of else []
    if not rows:
        return ""
    used = [of[name] for name in (*STALLED, COST) if name in of]
    dates = sorted({run.started_at[:10] for run in used})
    clients = dict.fromkeys(
        f"{cell.language}: {cell.base}"
        for run in used
        for cell in run.cells
        if cell.base and cell.role == "control" and cell.client.startswith("stock")
    )
    note = (
        "Each cell: stock, then with onewrite. CPU per call: onewrite's in parts of stock's, where nothing stalls. "
        f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}. {'; '.join(clients)}."
    )
    return "\n\n".join(["## At a glance", Table(HEADINGS, rows).markdown(), note])


def _stalled(run: Run) -> Iterator[list[str]]:
    """For each group whose control is a stock client, the target where that waits longest."""
    for group in dict.fromkeys(cell.group for cell in run.cells):
        pairs = [
            (stock, own)
            for stock in run.cells
            for own in run.cells
            if stock.group == own.group == group
            and (stock.target, stock.body_bytes) == (own.target, own.body_bytes)
            and (stock.role, own.role) == ("control", "adapter")
            and stock.client.startswith("stock")
            and stock.measured
            and own.measured
        ]
        if pairs:
            stock, own = max(pairs, key=lambda pair: pair[0].p50_ms or 0.0)
            yield [*_beside(stock, own), "-"]


def _costs(run: Run) -> Iterator[list[str]]:
    for group in dict.fromkeys(cell.group for cell in run.cells):
        members = [cell for cell in run.cells if cell.group == group and cell.measured]
        stock = next((cell for cell in members if cell.role == "control"), None)
        own = next((cell for cell in members if cell.role == "adapter"), None)
        if stock is None or own is None:
            continue
        ratio = stats.bootstrap_ratio(own.extra.get("cpu_us") or [], stock.extra.get("cpu_us") or [])
        yield [*_beside(stock, own), "-" if ratio is None else f"{ratio[0]:.2f}"]


def _beside(stock: Cell, own: Cell) -> list[str]:
    shares = [f"{cell.share_over or 0:.0%}" for cell in (stock, own)]
    segments = ["-" if cell.segments_mode is None else f"{cell.segments_mode:.3g}" for cell in (stock, own)]
    times = [milliseconds((cell.p50_ms or 0) * 1000) for cell in (stock, own)]
    return [stock.client.removeprefix("stock "), own.target, *times, " → ".join(shares), " → ".join(segments)]
