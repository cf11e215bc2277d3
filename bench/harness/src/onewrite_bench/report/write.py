"""The report: text, Markdown, and entries for github-action-benchmark."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from onewrite_bench.report import overview
from onewrite_bench.report.entries import entries
from onewrite_bench.report.table import Table
from onewrite_bench.report.wording import intervals, story, tables, verdict_line, word
from onewrite_bench.scenario import names
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["collect", "markdown", "save", "step_summary", "text", "write"]

MADE = {"demo", "benchmark"}
"""JSON files in the folder of results that hold no scenario's run."""


def text(run: Run) -> str:
    parts = [""]
    if run.skipped:
        parts += [f"{run.scenario}: skipped: {run.skipped}", ""]
    for title, table, notes in tables(run):
        parts += [title] if title else []
        parts += [table.text(), "", *(f"({note})" for note in notes)]
        parts += [""] if notes else []
    for verdict in run.verdicts:
        parts.append(verdict_line(verdict))
        saved = intervals(verdict)
        parts += [f"  saved at p50, 95 % bootstrap interval: {saved}"] if saved != "-" else []
    parts += [f"({note})" for note in (*run.notes, machine.line(run.machine))]
    parts.append(f"{run.scenario}: {run.seconds:.0f} s{', interrupted' if run.interrupted else ''}")
    return "\n".join(parts) + "\n"


def markdown(run: Run) -> str:
    parts = [f"## {run.scenario}: {run.title}", story(run)]
    if run.skipped:
        parts.append(f"Skipped: {run.skipped}.")
    for title, table, notes in tables(run):
        parts += [f"### {title}"] if title else []
        parts += [table.markdown(), *notes]
    if run.verdicts:
        rows = [[line.subject, word(line), line.text, intervals(line)] for line in run.verdicts]
        parts.append(Table(("judged", "verdict", "seen", "saved at p50, 95 % bootstrap interval"), rows).markdown())
    parts += run.notes
    clients = "; ".join(dict.fromkeys(f"{cell.language}: {cell.base}" for cell in run.cells if cell.base))
    parts.append(
        f"`{run.command}`, {run.started_at[:10]}, {run.seconds:.0f} s{', interrupted' if run.interrupted else ''}. "
        f"{machine.line(run.machine)}.{f' Clients: `{clients}`.' if clients else ''}"
    )
    return "\n\n".join(part for part in parts if part)


def collect(directory: Path) -> list[Run]:
    """All results in a directory, in the order of the scenarios; a partial one only where there is no complete one."""
    known = names()
    found = {path.name.removesuffix(".json").removesuffix(".partial") for path in directory.glob("*.json")}
    ordered = sorted(found - MADE, key=lambda name: (known.index(name) if name in known else len(known), name))
    runs = []
    for name in ordered:
        path = directory / f"{name}.json"
        try:
            runs.append(Run.from_json(json.loads(_complete_or_partial(path).read_text())))
        except (ValueError, TypeError, KeyError) as error:
            print(f"onewrite bench: {path} is left out, another version made it: {error}", file=sys.stderr)
    return runs


def _complete_or_partial(path: Path) -> Path:
    return path if path.exists() else path.with_suffix(".partial.json")


def write(directory: Path, results: Path | None, summary: bool = True) -> None:
    """Write everything that follows from the results in `directory`; a step's `summary` grows, so once only."""
    runs = collect(directory)
    if not runs:
        return
    whole = document(runs)
    (directory / "RESULTS.md").write_text(whole)
    (directory / "benchmark.json").write_text(json.dumps(entries(runs), indent=1) + "\n")
    if results is not None:
        results.write_text(whole)
    if summary:
        step_summary(directory)


def step_summary(directory: Path) -> None:
    """Append the report to the summary of a GitHub step, when this is one. A full disk there costs nobody a result."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    runs = collect(directory) if path else []
    if path and runs:
        try:
            with Path(path).open("a") as file:
                file.write(document(runs))
        except OSError as error:
            print(f"onewrite bench: no step summary: {error}", file=sys.stderr)


def document(runs: list[Run]) -> str:
    opening = (
        "# Results of the bench\n\nMade by `make bench`; do not edit. [README.md](README.md) explains the columns, the "
        "commands and the limits of the figures. They are of one busy machine: read ratios within a table, not "
        "absolute times across tables."
    )
    parts = [opening, overview.markdown(runs), *(markdown(run) for run in runs)]
    return "\n\n".join(part for part in parts if part) + "\n"


def save(run: Run, directory: Path) -> Path:
    """Keep one scenario's result. An interrupted run does not replace a complete one."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{run.scenario}{'.partial' if run.interrupted else ''}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(run.to_json(), indent=1) + "\n")
    part.replace(path)
    return path
