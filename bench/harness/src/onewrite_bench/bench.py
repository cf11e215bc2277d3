"""`run`: scenarios one after the other, results kept as they come, then the report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from . import own, report, scenario
from .console import Console
from .failures import BenchError
from .generators import choose
from .paths import BUILD
from .results import Run
from .run import execute
from .scenario import Scenario

__all__ = ["add_arguments", "add_report_arguments", "save"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="*", help="names; default: all but the demo")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="where results go")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.add_argument("--generator", default=os.environ.get("GENERATOR"), help="wrk2, oha or built-in")
    parser.add_argument("--no-rates", action="store_true", help="leave the constant-rate parts out")
    parser.add_argument("--parallel", action="store_true", help="languages side by side: quicker, noisier")
    parser.add_argument("--requests", type=int, help="requests per turn, instead of the scenario's")
    parser.add_argument("--rounds", type=int, help="rounds, instead of the scenario's")
    parser.set_defaults(run=_run)


def _plans(options: argparse.Namespace, scratch: Path) -> list[Scenario]:
    """What to run: the user's own HAProxy configuration or address when they named one, else scenarios."""
    if os.environ.get("TARGET"):
        plans = [own.of_target(os.environ["TARGET"])]
    elif os.environ.get("HAPROXY_CFG"):
        plans = [own.of_configuration(Path(os.environ["HAPROXY_CFG"]), scratch)]
    else:
        names = options.scenario or [name for name in scenario.names() if name != "demo"]
        plans = [scenario.load(name) for name in names]
    asked = {name: getattr(options, name) for name in ("requests", "rounds") if getattr(options, name)}
    return [replace(plan, parameters={**plan.parameters, **asked}) for plan in plans]


def _command(plan: Scenario) -> str:
    for variable in ("TARGET", "HAPROXY_CFG"):
        if os.environ.get(variable):
            return f"make bench {variable}={os.environ[variable]}"
    return f"make bench SCENARIO={plan.name}"


def _run(options: argparse.Namespace) -> int:
    plans = _plans(options, options.out)
    languages = options.languages.split(",") if options.languages else None
    generator = None if options.no_rates else choose(options.generator)
    console = Console()
    statuses = []
    for plan in plans:
        console.say(f"{plan.name}: {plan.title}")
        command = _command(plan)
        try:
            run = execute(plan, console, command, languages, options.parallel, generator)
        except (BenchError, OSError) as error:
            # One scenario that cannot run does not take the others' results with it.
            console.say(f"{plan.name}: could not run: {error}")
            statuses.append(3)
            continue
        statuses.append(run.exit_status)
        print(report.text(run), flush=True)
        try:
            save(run, options.out)
        except OSError as error:
            console.say(f"{plan.name}: the result could not be kept: {error}; it stands above")
            statuses.append(3)
        if run.interrupted:
            break
    try:
        report.write(options.out, options.results)
    except OSError as error:
        print(f"onewrite bench: the report could not be written: {error}", file=sys.stderr)
        return 3
    return next((status for status in (130, 1, 3, 2) if status in statuses), 0)


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="where the results are")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    report.write(options.out, options.results)
    return 0


def save(run: Run, directory: Path) -> Path:
    """Keep one scenario's result. An interrupted run does not replace a complete one."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{run.scenario}{'.partial' if run.interrupted else ''}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(run.to_json(), indent=1) + "\n")
    part.replace(path)
    return path
