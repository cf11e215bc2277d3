"""One self-contained HTML page: a picture first, tables and plots folded; no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from onewrite_bench.report import bars, plot, wording
from onewrite_bench.report.percentiles import curves
from onewrite_bench.report.table import Table
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Run

__all__ = ["render"]

_PAGES = Environment(loader=PackageLoader("onewrite_bench.report", "."), autoescape=True)


def render(runs: Sequence[Run]) -> str:
    """The page of all runs."""
    sections = [_section(run) for run in runs]
    return _PAGES.get_template("page.html.j2").render(sections=sections) + "\n"


def _section(run: Run) -> dict[str, Any]:
    drawn = bars.of_run(run)
    tables = [_table(title or "All rows", table, notes) for title, table, notes in wording.tables(run)]
    if not drawn and len(tables) == 1:
        tables[0]["open"] = True  # there is nothing else to look at
    return {
        "name": run.scenario,
        "title": run.title,
        "summary": _summary(run),
        "skipped": run.skipped,
        "story": wording.story(run),
        # What bars and plots return is markup of their own making, with every text in it escaped.
        "bars": Markup(bars.svg(drawn, run.title)) if drawn else None,
        "bars_caption": _caption(run),
        "verdicts": [
            {
                "kind": "clean" if verdict.state == "clean" else "fault" if verdict.state in FAULTS else "open",
                "line": wording.verdict_line(verdict),
                "interval": wording.intervals_line(verdict),
            }
            for verdict in run.verdicts
        ],
        "tables": tables,
        "plots": _plots(run),
        "notes": run.notes,
        "command": run.command,
        "date": run.started_at[:10],
        "seconds": f"{run.seconds:.0f}{', interrupted' if run.interrupted else ''}",
        "clients": "; ".join(dict.fromkeys(f"{cell.language}: {cell.base}" for cell in run.cells if cell.base)),
        "machine": machine.line(run.machine),
    }


def _summary(run: Run) -> str:
    """How the verdicts came out, in a few words."""
    words = [
        (len([verdict for verdict in run.verdicts if verdict.state == "clean"]), "clean"),
        (len([verdict for verdict in run.verdicts if verdict.state in FAULTS]), "at fault"),
        (len([verdict for verdict in run.verdicts if verdict.state in ("inconclusive", "not run")]), "open"),
    ]
    return ", ".join(f"{count} {word}" for count, word in words if count)


def _caption(run: Run) -> str:
    stalling = dict.fromkeys(cell.target for cell in run.cells if cell.stalls and cell.measured and not cell.beside)
    requests = max((len(cell.latencies_us) for cell in run.cells), default=0)
    where = f"at {', '.join(stalling)}" if stalling else "at all targets"
    return f"Medians of all requests {where}; {requests} per row of the table."


def _plots(run: Run) -> list[dict[str, Any]]:
    panels: dict[str, list[plot.Curve]] = {}
    for panel, name, role, distribution in curves(run):
        panels.setdefault(panel, []).append(plot.Curve(name, role, distribution))
    axes = plot.Axes.over(curve for drawn in panels.values() for curve in drawn)
    return [{"title": panel, "svg": Markup(plot.svg(drawn, panel, axes))} for panel, drawn in panels.items()]


def _table(title: str, table: Table, notes: Sequence[str]) -> dict[str, Any]:
    numeric = table.numeric() if table.rows else []
    rows = []
    above = None
    for row in table.rows:
        cells = [{"text": value, "numeric": right} for value, right in zip(row, numeric, strict=True)]
        rows.append({"first": above is not None and row[0] != above, "cells": cells})
        above = row[0]
    headings = [{"text": text, "numeric": right} for text, right in zip(table.headings, numeric, strict=False)]
    return {"title": title, "headings": headings, "rows": rows, "notes": list(notes), "open": False}
