"""`run`: scenarios one after the other, for the report. `gate`: the scenarios that judge, after the drivers were built.

Each result is kept at once. `bench/bench-gate` keeps the gate's exit status: make turns each failure into 2.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.engines.generators import choose
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BUILD
from onewrite_bench.report import write as report
from onewrite_bench.run.execute import LANES, execute
from onewrite_bench.scenario import Scenario

__all__ = ["add_arguments", "add_gate_arguments", "worst"]


WORDS = {
    0: "clean",
    1: "an adapter stalls, splits, lacks TCP_NODELAY or fails",
    2: "inconclusive: the machine was too noisy to judge, after three measurements",
    3: "could not run",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="*", help="names or files; default: all but the demo")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--out", type=Path, default=BUILD / "results", metavar="DIR", help="the folder of the results")
    parser.set_defaults(run=_run, lanes=1)


def add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="*", help="names or files; default: all that judge")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="the folder of the results")
    parser.set_defaults(run=_gate, lanes=LANES, generators=())


def _run(options: argparse.Namespace) -> int:
    plans = [scenario.load(name) for name in options.scenario or scenario.names() if name != "demo"]
    options.generators = choose()
    return worst(list(_all(plans, "make bench SCENARIO=", options).values()))


def _gate(options: argparse.Namespace) -> int:
    plans = [scenario.load(name) for name in options.scenario or scenario.names()]
    if options.scenario:
        for plan in plans:
            if not plan.judges:
                raise BenchError(f"{plan.name} has no verdict: make bench SCENARIO={plan.name}")
    plans = [plan for plan in plans if plan.judges]
    _build(plans, drivers.chosen(options.languages))
    statuses = _all(plans, "bench/bench-gate ", options)
    status = worst(list(statuses.values()))
    for name, one in statuses.items():
        print(f"gate: {name}: {WORDS[one]}")
    print(f"gate: exit status {status}: {WORDS[status]}", flush=True)
    return status


def worst(statuses: Sequence[int]) -> int:
    """1 for a fault, else 3 for a scenario that did not run, else 2 inconclusive, else 0. No scenario is 3."""
    return next((status for status in (1, 3, 2) if status in statuses), 0 if statuses else 3)


def _build(plans: Sequence[Scenario], languages: Sequence[str]) -> None:
    """Build the drivers that will run. A driver that cannot be built is stale or missing, and so "not run"."""
    named = {group.language for plan in plans for group in plan.groups} & set(drivers.languages())
    for language in sorted(named & set(languages)):
        Console().line(f"gate: make -C {language} driver")
        try:
            drivers.build(language)
        except BenchError as error:
            Console().line(str(error))


def _all(plans: Sequence[Scenario], command: str, options: argparse.Namespace) -> dict[str, int]:
    """Run the scenarios; return the exit status of each."""
    console, began = Console(), time.monotonic()
    languages = drivers.chosen(options.languages)
    statuses: dict[str, int] = {}
    for plan in plans:
        if any(group.language in (*languages, "raw") for group in plan.groups):
            console.line(f"{plan.name}: {plan.title}")
            statuses[plan.name] = _one(plan, f"{command}{plan.name}", options, console)
    report.step_summary(options.out)
    console.line(f"{len(statuses)} of {len(plans)} scenarios in {time.monotonic() - began:.0f} s")
    return statuses


def _one(plan: Scenario, command: str, options: argparse.Namespace, console: Console) -> int:
    """Run one scenario, show and keep its result, and write the report anew: a later failure loses nothing."""
    try:
        lanes = LANES if plan.parameters.side_by_side else options.lanes
        run = execute(plan, console, command, drivers.chosen(options.languages), options.generators, lanes)
    except (BenchError, OSError) as error:
        # One scenario that cannot run does not stop the others.
        console.line(f"{plan.name}: could not run: {error}")
        return 3
    print(report.text(run), flush=True)
    try:
        report.save(run, options.out)
        report.write(options.out)
    except OSError as error:
        console.line(f"{plan.name}: the result could not be kept: {error}; it stands above")
        return 3 if run.exit_status in (0, 2) else run.exit_status
    return run.exit_status
