"""`run`: scenarios one after the other, results kept as they come, then the report."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers, jmh
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.choice import choose
from onewrite_bench.paths import BUILD
from onewrite_bench.report import write as report
from onewrite_bench.run import own
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Scenario
from onewrite_bench.verdict.results import Run

__all__ = ["add_arguments", "add_report_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="*", help="names; default: all but the demo")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="where results go")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.add_argument("--generator", default=os.environ.get("GENERATOR"), help="wrk2 or built-in")
    parser.add_argument("--no-rates", action="store_true", help="leave the constant-rate parts out")
    parser.add_argument("--parallel", action="store_true", help="languages side by side: quicker, noisier")
    parser.add_argument("--requests", type=int, help="requests per turn, instead of the scenario's")
    parser.add_argument("--jmh", action="store_true", help="the Java benchmarks as well, when no scenario is named")
    parser.add_argument("--resume", action="store_true", help="keep complete results that are there; run the others")
    parser.add_argument("--rounds", type=int, help="rounds, instead of the scenario's")
    parser.set_defaults(run=_run)


def _plans(options: argparse.Namespace, scratch: Path) -> list[Scenario]:
    """What to run: the user's own HAProxy configuration or address when they named one, else scenarios."""
    if os.environ.get("TARGET"):
        plans = [own.of_target(os.environ["TARGET"], own.Request.from_environment())]
    elif os.environ.get("HAPROXY_CFG"):
        request = own.Request.from_environment()
        plans = [own.of_configuration(Path(os.environ["HAPROXY_CFG"]), scratch, request)]
    else:
        names = options.scenario or [name for name in scenario.names() if name != "demo"]
        plans = [scenario.load(name) for name in names]
    asked = {name: getattr(options, name) for name in ("requests", "rounds") if getattr(options, name)}
    return [replace(plan, parameters={**plan.parameters, **asked}) for plan in plans]


def _command(plan: Scenario) -> str:
    for variable in ("TARGET", "HAPROXY_CFG"):
        if os.environ.get(variable):
            more = [f" {name}={os.environ[name]}" for name in own.VARIABLES if os.environ.get(name)]
            return f"make bench {variable}={os.environ[variable]}{''.join(more)}"
    return f"make bench SCENARIO={plan.name}"


def _run(options: argparse.Namespace) -> int:
    began = time.monotonic()
    plans = _plans(options, options.out)
    languages = drivers.chosen(options.languages)
    console = Console()
    generator = None if options.no_rates else choose(options.generator)
    works: list[tuple[str, str, Callable[[], Run]]] = [
        (plan.name, plan.title, partial(execute, plan, console, _command(plan), languages, options.parallel, generator))
        for plan in plans
    ]
    if options.jmh and not options.scenario:
        works.append((jmh.NAME, jmh.TITLE, partial(_jmh, console)))
    # What was left out of the user's configuration is shown before the table.
    stories = {plan.name: plan.story for plan in plans if plan.parameters.get("unknown")}
    statuses: list[int] = []
    for name, title, work in works:
        if options.resume and _complete(options.out / f"{name}.json"):
            console.say(f"{name}: there is a complete result; kept")
            continue
        console.say(f"{name}: {title}")
        if stories.get(name):
            console.say(stories[name])
        status = _one(name, work, options, console)
        statuses.append(status)
        if status == 130:
            break
    report.step_summary(options.out)
    console.say(f"{len(statuses)} of {len(works)} in {time.monotonic() - began:.0f} s")
    return next((status for status in (130, 1, 3, 2) if status in statuses), 0)


def _one(name: str, work: Callable[[], Run], options: argparse.Namespace, console: Console) -> int:
    """Run one scenario, show and keep its result, and write the report anew: a later failure loses nothing."""
    try:
        run = work()
    except (BenchError, OSError) as error:
        # One scenario that cannot run does not stop the others.
        console.say(f"{name}: could not run: {error}")
        return 3
    except KeyboardInterrupt:
        return 130  # JMH: it keeps nothing of a benchmark that was cut short
    print(report.text(run), flush=True)
    status = run.exit_status
    try:
        report.save(run, options.out)
    except OSError as error:
        console.say(f"{name}: the result could not be kept: {error}; it stands above")
        status = 3 if status in (0, 2) else status
    try:
        report.write(options.out, options.results, summary=False)
    except OSError as error:
        console.say(f"the report could not be written: {error}; the results stand above")
        status = 3 if status in (0, 2) else status
    return status


def _jmh(console: Console) -> Run:
    run, raw = jmh.measure([], console, "make -C bench results", shown=False)
    why = jmh.shortcut(raw)
    if why is not None:
        raise BenchError(f"these numbers must not be published: {why}")
    return run


def _complete(path: Path) -> bool:
    try:
        return not Run.from_json(json.loads(path.read_text())).interrupted
    except (OSError, ValueError, TypeError, KeyError):
        return False


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="where the results are")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    report.write(options.out, options.results)
    return 0
