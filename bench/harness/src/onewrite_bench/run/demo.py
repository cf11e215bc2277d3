"""`demo`: the stall behind a real HAProxy and its end, in a table and one verdict line per language."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from onewrite_lab import stall

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.report import table
from onewrite_bench.report.wording import verdict_line
from onewrite_bench.run.execute import execute
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["add_arguments"]

NOTES = (
    "`control` sends head and body in two writes with Nagle on; `stock` is the base library as people use it.",
    "The default frontend acknowledges an incomplete request at once, so nobody stalls there: it is the negative "
    "control, and the verdict counts the frontends that stall. A real network has no such frontend: there Nagle and "
    "two writes cost a round trip behind any HAProxy.",
    "Segments and TCP_NODELAY are read from the kernel, from outside the client. Times of a busy machine vary; "
    "p50, the share over 30 ms and the segment count decide, never p99.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="fewer requests: the form that tests use")
    parser.add_argument("--languages", default=",".join(drivers.languages()), help="comma-separated; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw result as JSON ('-': standard output)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    plan = scenario.load("demo")
    if options.short:
        plan = replace(plan, parameters={**plan.parameters, "rounds": 3, "requests": 10})
    languages = [name.strip() for name in options.languages.split(",") if name.strip()]
    for language in languages:
        if language not in drivers.languages():
            known = ", ".join(drivers.languages())
            print(f"onewrite bench: no language {language!r}; there are {known}", file=sys.stderr)
            return 3
    if options.markdown is not None:
        command = "make -C bench demo-table"
    else:
        command = (
            "make demo"
            if sorted(languages) == sorted(drivers.languages())
            else f"make demo LANGUAGES={options.languages}"
        )
    console = Console()
    console.say(f"{plan.title}: {', '.join(languages)}; 200-byte POSTs on pooled connections")
    run = execute(plan, console, command, languages, parallel=True)
    out = sys.stderr if str(options.json) == "-" else sys.stdout
    print(_text(run), file=out)
    if options.json is not None:
        rendered = json.dumps(run.to_json(), indent=1) + "\n"
        if str(options.json) == "-":
            sys.stdout.write(rendered)
        else:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(rendered)
    if options.markdown is not None and not run.interrupted:
        options.markdown.write_text(_markdown(run))
    return run.exit_status


def _reference_line(run: Run) -> str | None:
    good = [cell for cell in run.cells if cell.role == "good" and cell.measured and cell.stalls]
    if not good:
        return None
    worst = max(good, key=lambda cell: cell.share_over or 0.0)
    quiet = not stall.says_nothing(worst.share_over or 0.0)
    state = "quiet enough" if quiet else "too busy"
    return f"machine: {state}: a raw socket with one write took over 30 ms in {worst.share_over:.0%} of its requests"


def _lines(run: Run) -> list[str]:
    reference = _reference_line(run)
    return [verdict_line(verdict) for verdict in run.verdicts] + ([reference] if reference else [])


def _conclusion(run: Run) -> str:
    return {
        0: "The stall is there, and gone in every adapter.",
        1: "An adapter stalls or splits: see the lines above.",
        2: "Inconclusive: not every comparison could be made.",
        130: "Interrupted: the table holds what was measured so far.",
    }[run.exit_status]


def _text(run: Run) -> str:
    notes = [f"({note.replace('`', '')})" for note in (*NOTES, *run.notes)]
    return "\n".join(
        [
            "",
            table.of_cells(run.cells).text(),
            "",
            *notes,
            "",
            *_lines(run),
            f"({machine.line(run.machine)})",
            "",
            f"{_conclusion(run)} ({run.seconds:.0f} s)",
        ]
    )


def _markdown(run: Run) -> str:
    versions = dict.fromkeys(f"{cell.language}: {cell.base}" for cell in run.cells if cell.base)
    requests = max((len(cell.latencies_us) for cell in run.cells), default=0)
    parts = [
        f"# {run.title}",
        f"Made by `{run.command}` on {run.started_at[:10]}, in {run.seconds:.0f} s; do not edit. "
        f"{requests} POSTs of 200 bytes per row on a kept connection, clients taking turns.",
        table.of_cells(run.cells).markdown(),
        "\n".join(f"- {line}" for line in _lines(run)),
        f"**{_conclusion(run)}**",
        "\n\n".join((*NOTES, *run.notes)),
        f"Machine: {machine.line(run.machine)}. Clients: {'; '.join(versions)}.",
    ]
    return "\n\n".join(parts) + "\n"
