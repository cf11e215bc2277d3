"""One self-contained HTML page: tables and percentile plots, no script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from onewrite_bench.report import plot, wording
from onewrite_bench.report.percentiles import curves
from onewrite_bench.report.table import Table
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["render"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #666; --line: #ddd; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a0a0a0; --line: #444; --paper: #161616; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th.n, td.n { text-align: right; } tr.first td { border-top: 2px solid var(--line); }
.note, figcaption, .machine { color: var(--soft); font-size: .9rem; }
.clean::before { content: "\\2713 "; color: #1a7f37; } .stalls { font-weight: bold; }
.stalls::before { content: "\\2717 "; color: #cf222e; }
.plots { margin-top: 1.5rem; display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem; }
figure { margin: 0; } svg { width: 100%; height: auto; } code { font-size: .9em; }
"""


def render(runs: Sequence[Run]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>onewrite: results of the bench</title><style>{_STYLE}{plot.STYLE}</style></head><body>",
        "<h1>Results of the bench</h1>",
        "<p>How often a POST waits for a delayed acknowledgement, and what removes the wait. Read ratios within "
        "a table, not absolute times across tables: these are the numbers of one machine.</p>",
        "<ul>",
        *(f'<li><a href="#{run.scenario}">{escape(run.title)}</a></li>' for run in runs),
        "</ul>",
        *(_section(run) for run in runs),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _section(run: Run) -> str:
    parts = [f'<h2 id="{run.scenario}">{escape(run.title)}</h2>', f"<p>{escape(wording.story(run))}</p>"]
    if run.skipped:
        parts.append(f"<p>Skipped: {escape(run.skipped)}.</p>")
    if run.verdicts:
        parts.append("<ul>")
        for verdict in run.verdicts:
            interval = wording.intervals_line(verdict)
            note = f'<br><span class="note">{escape(interval)}</span>' if interval else ""
            kind = escape(verdict.state.replace(" ", "-"))
            parts.append(f'<li class="{kind}">{escape(wording.verdict_line(verdict))}{note}</li>')
        parts.append("</ul>")
    for title, table, notes in wording.tables(run):
        parts += [f"<h3>{escape(title)}</h3>"] if title else []
        parts.append(_table(table))
        parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    panels: dict[str, list[plot.Curve]] = {}
    for panel, name, role, distribution in curves(run):
        panels.setdefault(panel, []).append(plot.Curve(name, role, distribution))
    if panels:
        parts.append('<div class="plots">')
        for panel, drawn in panels.items():
            parts.append(f"<figure>{plot.svg(drawn, panel)}<figcaption>{escape(panel)}</figcaption></figure>")
        parts.append("</div>")
    parts += [f'<p class="note">{escape(note)}</p>' for note in run.notes]
    parts.append(
        f'<p class="machine"><code>{escape(run.command)}</code>, {run.started_at[:10]}, {run.seconds:.0f} s. '
        f"{escape(machine.line(run.machine))}.</p>"
    )
    return "\n".join(parts)


def _table(table: Table) -> str:
    if not table.rows:
        return "<p>Nothing was measured.</p>"
    kinds = [' class="n"' if right else "" for right in table.numeric()]
    lines = ['<div class="scroll"><table><thead><tr>']
    lines += [f"<th{kind}>{escape(heading)}</th>" for heading, kind in zip(table.headings, kinds, strict=True)]
    lines.append("</tr></thead><tbody>")
    previous = None
    for row in table.rows:
        first = ' class="first"' if previous is not None and row[0] != previous else ""
        cells = "".join(f"<td{kind}>{escape(value)}</td>" for value, kind in zip(row, kinds, strict=True))
        lines.append(f"<tr{first}>{cells}</tr>")
        previous = row[0]
    lines.append("</tbody></table></div>")
    return "\n".join(lines)
