"""`gate`: the verdict for CI. Scenarios in the form their `gate` parameters give, one exit status for all.

In each group a bad control, the adapter and a good control take turns in every round. `bench/bench-gate` runs it with
its own exit status: make would turn each failure into 2.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.choice import choose
from onewrite_bench.paths import BUILD
from onewrite_bench.report import write as report
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Scenario
from onewrite_bench.verdict.results import Run

__all__ = ["add_arguments", "gated", "worst"]

WORDS = {0: "clean", 1: "an adapter stalls, splits, lacks TCP_NODELAY or fails", 2: "inconclusive", 3: "could not run"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="*", help="names; default: all that have a gate")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--rates", action="store_true", help="the constant-rate part too; a late generator voids it")
    parser.add_argument("--generator", default=os.environ.get("GENERATOR"), help="wrk2 or built-in")
    parser.add_argument("--out", type=Path, default=BUILD / "gate", metavar="DIR", help="where results go")
    parser.set_defaults(run=_run)


def gated(plan: Scenario, rates: bool) -> Scenario:
    """The scenario in its gate's form. Raises BenchError when it has none."""
    form: dict[str, Any] | None = plan.parameters.get("gate")
    if form is None:
        raise BenchError(f"{plan.name} has no gate: it shows something, it judges nobody")
    parameters = {**plan.parameters, **form}
    if rates and "rates" in parameters:
        # Below the control's capacity, where the rate can be kept; the stock library is not judged.
        parameters["rates"] = {
            **parameters["rates"],
            "of_capacity": parameters["rates"]["of_capacity"][:1],
            "roles": ["control", "adapter"],
            "counts": True,
        }
    else:
        parameters.pop("rates", None)
    return replace(plan, parameters=parameters)


def worst(statuses: list[int]) -> int:
    """130 interrupted, else 1 a stall, else 3 not run, else 2 inconclusive, else 0. Nothing run is inconclusive."""
    return next((status for status in (130, 1, 3, 2) if status in statuses), 0 if statuses else 2)


def _run(options: argparse.Namespace) -> int:
    names = options.scenario or [name for name in scenario.names() if "gate" in scenario.load(name).parameters]
    plans = [gated(scenario.load(name), options.rates) for name in names]
    languages = drivers.chosen(options.languages)
    console = Console()
    generator = choose(options.generator) if options.rates else None
    _build(plans, languages, console)
    statuses: dict[str, int] = {}
    for plan in plans:
        console.say(f"gate: {plan.name}: {plan.title}")
        try:
            run = execute(plan, console, f"bench/bench-gate {plan.name}", languages, True, generator)
        except (BenchError, OSError) as error:
            console.say(f"{plan.name}: could not run: {error}")
            statuses[plan.name] = 3
            continue
        print(report.text(run), flush=True)
        statuses[plan.name] = run.exit_status if _judged(run) else 0
        try:
            report.save(run, options.out)
        except OSError as error:
            console.say(f"{plan.name}: the result could not be kept: {error}; it stands above")
        if run.interrupted:
            break
    try:
        report.write(options.out, None)
    except OSError as error:
        console.say(f"the report could not be written: {error}; the verdict stands")
    status = worst(list(statuses.values()))
    for name, one in statuses.items():
        print(f"gate: {name}: {WORDS.get(one, 'interrupted')}")
    print(f"gate: exit status {status}: {WORDS.get(status, 'interrupted')}", flush=True)
    return status


def _build(plans: Sequence[Scenario], languages: Sequence[str], console: Console) -> None:
    """Build the drivers that will run. A driver that cannot be built is stale or missing, and so "not run"."""
    named = {group.language for plan in plans for group in plan.groups} & set(drivers.languages())
    for language in sorted(named & set(languages)):
        console.say(f"gate: make -C {language} driver")
        try:
            drivers.build(language)
        except BenchError as error:
            console.say(str(error))


def _judged(run: Run) -> bool:
    """With some languages left out, a scenario may judge no client: that is not inconclusive."""
    return bool(run.verdicts) or run.interrupted or any(cell.role == "adapter" for cell in run.cells)
