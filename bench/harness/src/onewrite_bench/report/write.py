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
from onewrite_bench.report.table import READING, Table, ms, of_cells, of_rates, of_records, sample, span
from onewrite_bench.scenario import load, names
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Run, Verdict

__all__ = ["collect", "markdown", "publish", "save", "step_summary", "text", "write"]

KEPT = BENCH / "results"
"""The raw results behind RESULTS.md and the pages, one JSON file per scenario."""

MADE = {"demo", "jmh"}
"""JSON files in a folder of results that are not a scenario's run."""

VERDICT_ALONE = ("writers", "nagle-base", "proxy-env", "okhttp-bodies", "okhttp-tls")
"""Scenarios whose rows all show the same: RESULTS.md has a row of one table for each."""

OPENING = f"""# Results

Made by `make -C bench results`, `make -C bench jmh` and `make -C bench publish`; do not edit. `make bench
SCENARIO=name` repeats a table; [results](results) has the raw figures. Other tables:
[libraries](../docs/do-i-have-it.md#stalls-measured), [proxies](../docs/proxies.md#measured),
[relays](../docs/proxies.md#relays-and-tunnels), [other waits](../docs/what-it-cannot-fix.md),
[cost of a request](../README.md#what-it-costs).

## How to read a table

{READING}"""

PHASES = (
    "medians in ms of the requests that the last column counts; in brackets the lowest and the highest of five rounds"
)

JUDGED = """## Adapters judged

The table shows that no adapter stalls in these scenarios. *control* and *onewrite* are the ranges of all medians in ms;
*clean* counts the adapters."""


def tables(run: Run, whole: bool = True) -> list[Table]:
    """The tables of a run; not `whole`, only the rows of raw sockets where there are any."""
    raw = {cell.group for cell in run.cells if cell.role == "control" and cell.language == "raw"}
    cells = [cell for cell in run.cells if whole or not raw or cell.group in raw]
    made = [of_cells(cells)] if cells else []
    made += [of_rates(run.rates, whole)] if run.rates else []
    return made + ([of_records(run.records)] if run.records else [])


def text(run: Run) -> str:
    parts = [f"\n{run.scenario}: skipped: {run.skipped}"] if run.skipped else []
    parts += [f"\n{table.text()}\n" for table in tables(run)]
    if run.cells:
        parts += [textwrap.fill(READING.replace("**Bold**", "A client stalls"), 100)]
    parts += [*(textwrap.fill(note, 100) for note in _notes(run)), ""]
    parts += [f"{line.group}: {_word(line)}: {line.text}" for line in run.verdicts]
    parts += [f"({machine.line(run.machine)})", f"{run.scenario}: {run.seconds:.0f} s"]
    return "\n".join(parts) + "\n"


def body(run: Run) -> str:
    """The tables of a run for a page, and its sample and origin."""
    parts = [sample(run.cells)] * bool(run.cells) + [PHASES] * bool(run.records) + [f"`{run.command}`, {_origin(run)}."]
    return "\n\n".join([*(table.markdown() for table in tables(run, whole=False)), "; ".join(parts)])


def _origin(run: Run) -> str:
    load_average = run.machine.get("load_average")
    return f"commit {run.machine.get('commit')}, {run.started_at[:10]}, load average {load_average}"


def markdown(run: Run) -> str:
    """The section of a run in RESULTS.md."""
    plan = load(run.scenario) if run.scenario in names() else run
    parts = [f"## {run.scenario}: {plan.title}", " ".join([*plan.story.split(), *_where(run).split()])]
    parts += [table.markdown() for table in tables(run, whole=False)]
    counted = [sample(run.cells)] * bool(run.cells) + [f"{_clean(run)} adapters clean"] * bool(run.verdicts)
    counted += [_scatter(run)] if run.rates else []
    parts.append(f"Skipped: {run.skipped}." if run.skipped else "; ".join([*counted, f"{_origin(run)}."]))
    return "\n\n".join(part for part in [*parts, *_notes(run), "\n".join(_unclean(run))] if part)


def _scatter(run: Run) -> str:
    """The largest difference of the turns of a row."""
    turns = len(run.rates[0].turns)
    p50, p99 = (
        ms(
            max(
                max(values) - min(values) for values in ([turn[name] for turn in row.turns] or [0] for row in run.rates)
            )
        )
        for name in ("p50_us", "p99_us")
    )
    return f"the {turns} turns of a row differ by at most {p50} ms in p50, {p99} ms in p99" if turns > 1 else "one turn"


def _judged(runs: Sequence[Run]) -> str:
    """The section of the scenarios that need no table of their own."""
    rows, more = [], []
    for run in runs:
        seen = [cell for cell in run.cells if cell.stalls and cell.measured]
        medians = [[cell.p50_us for cell in seen if cell.role == role] for role in ("control", "adapter")]
        ranges = [span(ms(min(one)), ms(max(one))) if one else "-" for one in medians]
        n = span(*(f(len(cell.latencies_us) for cell in seen) for f in (min, max))) if seen else "0"
        about = f"{run.scenario}: {load(run.scenario).title}"
        rows.append([about, *ranges, _clean(run), n, str(run.machine.get("commit")), run.started_at[:10]])
        more += _unclean(run)
    table = Table(("scenario", "control", "onewrite", "clean", "n", "commit", "date"), rows)
    return "\n\n".join([JUDGED, table.markdown(), *["\n".join(more)] * bool(more)])


def _clean(run: Run) -> str:
    return f"{sum(line.state == 'clean' for line in run.verdicts)} of {len(run.verdicts)}"


def _unclean(run: Run) -> list[str]:
    return [f"- {line.group}: {_word(line)}: {line.text}" for line in run.verdicts if line.state != "clean"]


def _where(run: Run) -> str:
    """The targets of a table whose rows join several."""
    joined = run.cells and any(
        value.startswith("all") for row in of_cells(run.cells).rows for value in row[:2]
    )  # fmt: skip
    return f" Targets: {'; '.join(dict.fromkeys(cell.target for cell in run.cells))}." if joined else ""


def _versions(runs: Iterable[Run]) -> list[str]:
    """The libraries that were measured, as one text per runtime."""
    libraries: dict[str, dict[str, None]] = {}
    for run in runs:
        bases = [cell.base for cell in run.cells if cell.language != "raw"]
        for base in (*bases, *(row.base for row in run.rates), run.base):
            library, _, runtime = base.partition(", ")
            libraries.setdefault(runtime, {})[library] = None
    return [f"{', '.join(of)} on {runtime}" for runtime, of in libraries.items() if runtime]


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
    """The table of the cost of a request, of all languages; nothing while no bench has written its results."""
    table, notes = costs.table(repository)
    return {"cost": "\n\n".join([table.markdown(), "\n".join(f"- {note}" for note in notes)])} if table.rows else {}


def document(runs: Sequence[Run], java: jmh.Jmh | None = None) -> str:
    """RESULTS.md: each scenario but those whose table stands on a page, and the stall by JMH."""
    shown = [run for run in runs if run.scenario not in (*pages.PAGES, *VERDICT_ALONE)]
    judged = [run for run in runs if run.scenario in VERDICT_ALONE]
    parts = [OPENING, *(markdown(run) for run in shown), _judged(judged) if judged else ""]
    parts += [jmh.stall(java) if java else "", "## Versions"]
    machines = [run.machine for run in runs] + ([java.machine] if java else [])
    lines = [machine.line({**one, "load_average": None, "commit": None}) for one in machines]
    lines += [*_versions(runs), *([f"JMH 1.37 on {java.runtime}"] if java else [])]
    parts.append("\n".join(f"- {line}" for line in dict.fromkeys(lines)))
    return "\n\n".join(part for part in parts if part) + "\n"


def collect(directory: Path) -> list[Run]:
    """All results in a directory, in the order of the scenarios."""
    known = names()
    found = {path.stem for path in directory.glob("*.json")} - MADE
    runs = []
    for name in sorted(found, key=lambda name: (known.index(name) if name in known else len(known), name)):
        path = directory / f"{name}.json"
        try:
            runs.append(Run.from_json(json.loads(path.read_text())))
        except (ValueError, TypeError, KeyError) as error:
            print(f"onewrite bench: {path} is ignored, another version made it: {error}", file=sys.stderr)
    return runs


def save(run: Run, directory: Path) -> None:
    """Keep one scenario's result."""
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / f"{run.scenario}.part"
    part.write_text(run.text())
    part.replace(part.with_suffix(".json"))


def write(directory: Path) -> None:
    """Write the report of all results in `directory`; `publish` writes the report of the kept ones."""
    if directory.resolve() != KEPT:
        (directory / "RESULTS.md").write_text(document(collect(directory)))


def publish(check: bool = False, repository: Path = REPOSITORY) -> list[str]:
    """Write RESULTS.md, java/bench/RESULTS.md and the tables of the pages from the kept results.

    With `check` it writes nothing. Returns the pages that differed.
    """
    kept = repository / "bench" / "results"
    runs, java = collect(kept), jmh.read(kept / "jmh.json")
    made = {run.scenario: body(run) for run in runs if run.scenario in pages.PAGES} | cost(repository)
    differ = pages.write(made, repository, check)
    whole = {"bench/RESULTS.md": document(runs, java)} | ({"java/bench/RESULTS.md": jmh.markdown(java)} if java else {})
    for name, fresh in whole.items():
        path = repository / name
        if not path.exists() or path.read_text() != fresh:
            differ.append(name)
            if not check:
                path.write_text(fresh)
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
