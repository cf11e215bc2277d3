"""The report: text on a terminal, a summary for CI, RESULTS.md and the tables of the pages."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from onewrite_bench.paths import BENCH, REPOSITORY
from onewrite_bench.report import costs, jmh, pages
from onewrite_bench.report.table import READING, Table, ms, of_cells, of_rates, of_records, sample
from onewrite_bench.scenario import load, names
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Run, Verdict

__all__ = ["collect", "markdown", "publish", "save", "step_summary", "text", "write"]

KEPT = BENCH / "results"
"""The raw results behind RESULTS.md and the pages, one JSON file per scenario."""

MADE = {"demo", "jmh"}
"""JSON files in a folder of results that are not a scenario's run."""

VERDICT_ALONE = {"writers", "nagle-base", "proxy-env", "okhttp-bodies", "okhttp-tls"}
"""Scenarios whose rows all show the same: RESULTS.md has them in one sentence."""

OPENING = f"""# Results

Made by `make -C bench results`, `make -C bench jmh` and `make -C bench publish`; do not edit. One group of clients ran
at a time, and its clients took turns. [results](results) has the raw figures. Other tables: single
[libraries](../docs/do-i-have-it.md#stalls-measured), [proxies](../docs/proxies.md#measured),
[relays](../docs/proxies.md#relays-and-tunnels), [other waits](../docs/what-it-cannot-fix.md) and the
[cost of a request](../README.md#what-it-costs).

## How to read a table

{READING}"""

RATES = (
    "Times in ms count from when a request was due; with several turns a cell has their median and, in brackets, the "
    "lowest and the highest. *max* is the largest of all turns, *n* the number of requests. **Bold** is the rate that "
    "a saturated client reached, one that misses the asked rate by more than 2%: its queue, and so its latency, grows "
    "without end."
)

PHASES = (
    "Medians in ms of the requests that the last column counts; in brackets the lowest and the highest of five rounds"
)


def tables(run: Run, whole: bool = True) -> list[Table]:
    """The tables of a run; not `whole`, those of raw sockets alone where there are any."""
    raw = {cell.group for cell in run.cells if cell.role == "control" and cell.language == "raw"}
    cells = [cell for cell in run.cells if whole or not raw or cell.group in raw]
    made = [of_cells(cells)] if cells else []
    made += [of_rates(run.rates)] if run.rates else []
    return made + ([of_records(run.records)] if run.records else [])


def text(run: Run) -> str:
    parts = [f"\n{run.scenario}: skipped: {run.skipped}"] if run.skipped else []
    parts += [f"\n{table.text()}\n" for table in tables(run)]
    if run.cells:
        parts += [textwrap.fill(READING.replace("**Bold** stalls: at", "A cell stalls if at"), 100)]
    if run.rates:
        parts += [textwrap.fill(RATES, 100)]
    parts += [*(textwrap.fill(note, 100) for note in _notes(run)), ""]
    parts += [f"{line.group}: {_word(line)}: {line.text}" for line in run.verdicts]
    state = ", interrupted" if run.interrupted else ""
    parts += [f"({machine.line(run.machine)})", f"{run.scenario}: {run.seconds:.0f} s{state}"]
    return "\n".join(parts) + "\n"


def body(run: Run) -> str:
    """The tables of a run, and what a reader needs to judge them."""
    return "\n\n".join([*(table.markdown() for table in tables(run, whole=False)), _origin(run)])


def markdown(run: Run) -> str:
    parts = [f"## {run.scenario}: {run.title}", " ".join([*_story(run).split(), *_where(run).split()])]
    parts += (
        [f"Skipped: {run.skipped}."] if run.skipped else [_origin(run) if run.scenario in VERDICT_ALONE else body(run)]
    )
    if run.rates:
        parts.append(RATES)
    parts += _notes(run)
    unclean = [line for line in run.verdicts if line.state != "clean"]
    clean = len(run.verdicts) - len(unclean)
    verdicts = [f"{clean} of {len(run.verdicts)} adapters are clean{_medians(run)}."] if run.verdicts else []
    parts.append("\n".join(verdicts + [f"- {line.group}: {_word(line)}: {line.text}" for line in unclean]))
    return "\n\n".join(part for part in parts if part)


def _medians(run: Run) -> str:
    """The medians of a scenario without a table, of all its rows where the control must stall."""
    if run.scenario not in VERDICT_ALONE:
        return ""
    ranges = []
    for role in ("control", "adapter"):
        medians = [cell.p50_us for cell in run.cells if cell.role == role and cell.stalls and cell.measured]
        ranges.append(f"{ms(min(medians, default=None))} to {ms(max(medians, default=None))} ms")
    return f"; the controls' medians are {ranges[0]}, theirs {ranges[1]}"


def _story(run: Run) -> str:
    """The story as the scenario tells it now; that of the run where the scenario is somebody's own file."""
    return load(run.scenario).story if run.scenario in names() else run.story


def _where(run: Run) -> str:
    """The places of a table whose rows join several."""
    names = list(dict.fromkeys(cell.target for cell in run.cells))
    joined = (
        any(value.startswith("all") for row in of_cells(run.cells).rows for value in row[:2]) if run.cells else False
    )
    return f" Places: {'; '.join(names)}." if joined else ""


def _origin(run: Run) -> str:
    """The sample, the command, the commit, the date and the machine's load, in one line."""
    counted = f"{sample(run.cells)}; " if run.cells else ""
    counted += f"{PHASES}; " if run.records else ""
    state = ", interrupted" if run.interrupted else ""
    parts = [f"`{run.command}`", f"commit {run.machine.get('commit')}", f"{run.started_at[:10]}{state}"]
    return f"{counted}{', '.join(parts)}, load average {run.machine.get('load_average')}."


def _bases(runs: Iterable[Run]) -> list[str]:
    """The versions of all libraries that were measured."""
    bases: dict[str, None] = {}
    for run in runs:
        bases |= dict.fromkeys(cell.base for cell in run.cells if cell.base and cell.language != "raw")
        bases |= dict.fromkeys(base for base in (*(row.base for row in run.rates), run.base) if base)
    return _versions(bases)


def _versions(bases: Iterable[str]) -> list[str]:
    """Libraries, each with its runtime behind a comma, as one text per runtime."""
    libraries: dict[str, list[str]] = {}
    for base in bases:
        library, _, runtime = base.partition(", ")
        libraries.setdefault(runtime, []).append(library)
    return [f"{', '.join(names)} on {runtime}" if runtime else ", ".join(names) for runtime, names in libraries.items()]


def _word(line: Verdict) -> str:
    return ", ".join(FAULTS[kind] for kind in line.faults) if line.state == "faulty" else line.state


def _notes(run: Run) -> list[str]:
    judged = {line.group for line in run.verdicts if line.state == "not run"}
    missing = dict.fromkeys(
        f"{cell.group}, {cell.client}: not run: {cell.missing}"
        for cell in run.cells
        if cell.missing and not (cell.role == "adapter" and cell.group in judged)
    )
    return [*run.notes, *missing]


def cost(repository: Path) -> dict[str, str]:
    """The table of the cost of a call, of all languages; nothing while no bench has written its results."""
    table, notes = costs.table(repository)
    return {"cost": "\n\n".join([table.markdown(), "\n".join(f"- {note}" for note in notes)])} if table.rows else {}


def document(runs: Sequence[Run], java: jmh.Jmh | None = None) -> str:
    """RESULTS.md: each scenario but those whose table stands on a page, and Java's benchmarks."""
    shown = [run for run in runs if run.scenario not in pages.PAGES]
    parts = [OPENING, *(markdown(run) for run in shown), jmh.markdown(java) if java else "", "## Versions"]
    machines = [run.machine for run in runs] + ([java.machine] if java else [])
    lines = [machine.line({**one, "load_average": None, "commit": None}) for one in machines]
    lines += [*_bases(runs), *([f"JMH 1.37 on {java.runtime}"] if java else [])]
    parts.append("\n".join(f"- {line}" for line in dict.fromkeys(lines)))
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
    part.write_text(run.text())
    part.replace(path)
    return path


def write(directory: Path) -> None:
    """Write the report of all results in `directory`; `publish` writes that of the kept ones."""
    directory.mkdir(parents=True, exist_ok=True)
    if directory.resolve() == KEPT:
        return
    (directory / "RESULTS.md").write_text(document(collect(directory)))


def publish(check: bool = False, repository: Path = REPOSITORY) -> list[str]:
    """Write RESULTS.md and the tables of the pages from the kept results; with `check` return those that differ."""
    kept = repository / "bench" / "results"
    runs = collect(kept)
    made = {run.scenario: body(run) for run in runs if run.scenario in pages.PAGES} | cost(repository)
    differ = pages.write(made, repository, check)
    results = repository / "bench" / "RESULTS.md"
    whole = document(runs, jmh.read(kept / "jmh.json"))
    if not results.exists() or results.read_text() != whole:
        differ.append("bench/RESULTS.md")
        if not check:
            results.write_text(whole)
    return differ


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
