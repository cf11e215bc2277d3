"""`demo`: the stall behind a real HAProxy and its end, in a table and one verdict line per language."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import replace
from pathlib import Path

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.report import write as report
from onewrite_bench.run.execute import LANES, execute

__all__ = ["add_arguments"]

CONCLUSIONS = {
    0: "The stall is there, and gone in every adapter.",
    1: "An adapter is at fault: see the lines above.",
    2: "Inconclusive: not every comparison could be made.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="fewer requests: the form that tests use")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw result as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    plan = scenario.load("demo")
    if options.short:
        plan = replace(plan, parameters=replace(plan.parameters, rounds=3, requests=10))
    languages = drivers.chosen(options.languages)
    command = "make demo" + (f" LANGUAGES={options.languages}" if set(languages) != set(drivers.languages()) else "")
    console = Console()
    console.line(f"{plan.title}: {', '.join(languages)}; 200-byte POSTs on kept connections")
    # The short form is for its verdict alone, so groups may run side by side.
    run = execute(plan, console, command, languages, lanes=LANES if options.short else 1)
    story = textwrap.fill(" ".join(plan.story.split()), 100)
    print(f"\n{story}\n{report.text(run)}\n{CONCLUSIONS[run.exit_status]}")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(run.to_json(), indent=1) + "\n")
    return run.exit_status
