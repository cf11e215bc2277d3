"""The report: text, Markdown, and entries for github-action-benchmark."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from onewrite_bench.report import costs
from onewrite_bench.report.entries import entries
from onewrite_bench.report.quote import block
from onewrite_bench.report.table import READING, Table, beside, milliseconds, of_cells, of_rates, of_records
from onewrite_bench.scenario import names
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.judge import FAULTS, lines
from onewrite_bench.verdict.results import Run, Verdict

__all__ = ["collect", "markdown", "save", "step_summary", "text", "write"]

MADE = {"demo", "entries"}
"""JSON files in the folder of results that are not a scenario's run."""

OPENING = """# Results

Made by `make -C bench results`; do not edit. Other pages quote these tables. Figures are of one machine that may have
been busy: compare within a table. No verdict uses p99 or an absolute time."""

RATES = (
    "Constant rate through each language's bridge, a small service that forwards each request as a POST through the "
    "client. A latency counts from the time a request was due. Above a client's capacity the queue grows all the time."
)


def text(run: Run) -> str:
    parts = [f"\n{run.scenario}: skipped: {run.skipped}"] if run.skipped else []
    if run.cells:
        parts += [f"\n{of_cells(run.cells).text()}\n", textwrap.fill(READING.replace("**Bold** stalls. ", ""), 100)]
    if run.rates:
        parts += [f"\n{of_rates(run.rates).text()}\n", textwrap.fill(RATES, 100)]
    if run.records:
        parts += [f"\n{of_records(run.records).text()}\n"]
    parts += [*(textwrap.fill(note, 100) for note in _notes(run)), ""]
    parts += [f"{line.group}: {_word(line)}: {line.text}" for line in run.verdicts]
    state = ", interrupted" if run.interrupted else ""
    parts += [f"({machine.line(run.machine)})", f"{run.scenario}: {run.seconds:.0f} s{state}"]
    return "\n".join(parts) + "\n"


def markdown(run: Run) -> str:
    parts = [f"## {run.scenario}: {run.title}", " ".join(run.story.split())]
    if run.skipped:
        parts.append(f"Skipped: {run.skipped}.")
    if run.cells:
        parts.append(block(run.scenario, of_cells(run.cells).markdown()))
    if run.rates:
        parts += [block(f"{run.scenario}-rates", of_rates(run.rates).markdown()), RATES]
    if run.records:
        parts.append(block(run.scenario, of_records(run.records).markdown()))
    parts += _notes(run)
    unclean = [line for line in run.verdicts if line.state != "clean"]
    clean = len(run.verdicts) - len(unclean)
    verdicts = [f"{clean} of {len(run.verdicts)} adapters are clean."] if run.verdicts else []
    parts.append("\n".join(verdicts + [f"- {line.group}: {_word(line)}: {line.text}" for line in unclean]))
    state = ", interrupted" if run.interrupted else ""
    load = f"load average {run.machine.get('load_average')} at the start"
    parts.append(f"`{run.command}`, {run.started_at[:10]}, {run.seconds:.0f} s{state}, {load}.")
    return "\n\n".join(part for part in parts if part)


def _word(line: Verdict) -> str:
    return ", ".join(FAULTS[kind] for kind in line.faults) if line.state == "faulty" else line.state


def _notes(run: Run) -> list[str]:
    judged = {line.group for line in run.verdicts if line.state == "not run"}
    missing = dict.fromkeys(
        f"{cell.group}, {cell.client}: not run: {cell.missing}"
        for cell in run.cells
        if cell.missing and not (cell.role == "adapter" and cell.group in judged)
    )
    good = beside(run.cells)
    return [*([good] if good else []), *run.notes, *missing]


def glance(runs: Sequence[Run]) -> Table:
    """Stock clients that stall, each at the target where it waits longest, without and with onewrite."""
    rows = []
    for run in runs:
        late_after = lines(run.cells)
        for group in dict.fromkeys(cell.group for cell in run.cells):
            cells = [cell for cell in run.cells if cell.group == group and cell.measured]
            # A column of another name has an option on that cures another stall.
            mine = [cell for cell in cells if (cell.role, cell.client) == ("adapter", "onewrite")]
            own = {(cell.target, cell.body_bytes): cell for cell in mine}
            stalled = [
                (cell, own[place])
                for cell in cells
                if (place := (cell.target, cell.body_bytes)) in own and (cell.kind, cell.role) == ("stock", "control")
            ]
            if stalled:
                stock, adapter = max(stalled, key=lambda pair: pair[0].p50_us)
                line_us = late_after[group, stock.target, stock.body_bytes]
                modes = [cell.segments_median for cell in (stock, adapter)]
                counted = "-" if None in modes else " → ".join(f"{mode:.3g}" for mode in modes)
                times = [f"{milliseconds(cell.p50_us)} ms" for cell in (stock, adapter)]
                late = [f"{cell.share_late(line_us):.0%}" for cell in (stock, adapter)]
                where = stock.target if run.scenario != "stock-libraries" else f"{stock.target}, {stock.base}"
                rows.append([group, where, *times, " → ".join(late), counted])
    return Table(("stock client", "where", "p50", "with onewrite", "late requests", "segments per POST"), rows)


def document(runs: Sequence[Run]) -> str:
    parts = [OPENING, "## At a glance"]
    stalls = glance(runs)
    if stalls.rows:
        parts.append(
            "Stock clients that stall, and the same clients with onewrite, at the target where each waits longest."
        )
        parts.append(block("glance", stalls.markdown()))
    cost, more, notes = costs.tables()
    if cost.rows:
        parts.append(
            "CPU per call in parts of the stock library's, where nothing stalls; in brackets the interval. The last "
            "column is a second process of the stock library: the error of the method. Where it is over "
            f"{costs.MOST_ERROR:.0%}, nothing is written."
        )
        parts.append(block("cost", cost.markdown()))
        parts += ["Other requests:", block("cost-of-others", more.markdown())] if more.rows else []
    parts += ["\n".join(f"- {note}" for note in notes), READING, *(markdown(run) for run in runs)]
    machines = dict.fromkeys(machine.line({**run.machine, "load_average": None}) for run in runs)
    bases = dict.fromkeys(cell.base for run in runs for cell in run.cells if cell.base and cell.language != "raw")
    parts += ["## Machine and versions", "\n".join(f"- {line}" for line in (*machines, *bases))]
    return "\n\n".join(part for part in parts if part) + "\n"


def collect(directory: Path) -> list[Run]:
    """All results in a directory, in the order of the scenarios; a partial one only where there is no complete one."""
    known = names()
    found = {path.name.removesuffix(".json").removesuffix(".partial") for path in directory.glob("*.json")}
    ordered = sorted(found - MADE, key=lambda name: (known.index(name) if name in known else len(known), name))
    runs = []
    for name in ordered:
        path = directory / f"{name}.json"
        path = path if path.exists() else path.with_suffix(".partial.json")
        try:
            runs.append(Run.from_json(json.loads(path.read_text())))
        except (ValueError, TypeError, KeyError) as error:
            print(f"onewrite bench: {path} is left out, another version made it: {error}", file=sys.stderr)
    return runs


def save(run: Run, directory: Path) -> Path:
    """Keep one scenario's result. An interrupted run does not replace a complete one."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{run.scenario}{'.partial' if run.interrupted else ''}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(run.to_json(), indent=1) + "\n")
    part.replace(path)
    return path


def write(directory: Path, results: Path | None) -> None:
    """Write the report and the entries of all results in `directory`."""
    runs = collect(directory)
    directory.mkdir(parents=True, exist_ok=True)
    whole = document(runs)
    (directory / "RESULTS.md").write_text(whole)
    (directory / "entries.json").write_text(json.dumps(entries(runs), indent=1) + "\n")
    if results is not None:
        results.write_text(whole)


def step_summary(directory: Path) -> None:
    """Append the report to the summary of a GitHub step, when this is one. A full disk there loses no result."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    runs = collect(directory) if path else []
    if path and runs:
        try:
            with Path(path).open("a") as file:
                file.write(document(runs))
        except OSError as error:
            print(f"onewrite bench: no step summary: {error}", file=sys.stderr)
