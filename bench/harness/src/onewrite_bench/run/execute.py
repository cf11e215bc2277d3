"""Runs one scenario from topology to verdict and leaves no process behind, however it ends."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from onewrite_lab.servers.children import Children

from onewrite_bench.console import Console
from onewrite_bench.ends import scratch
from onewrite_bench.engines import preflight, rates, repeat
from onewrite_bench.engines.clients import Clients
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.engines.rates import RateEngine
from onewrite_bench.engines.wan import wan
from onewrite_bench.generators.plan import Generator
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import judge as verdict
from onewrite_bench.verdict import machine, settle
from onewrite_bench.verdict.results import Run
from onewrite_bench.verdict.rule import STALLS, Rule

__all__ = ["execute"]


def execute(
    scenario: Scenario,
    console: Console,
    command: str,
    languages: Sequence[str] | None = None,
    parallel: bool = False,
    generator: Generator | None = None,
    rule: Rule = STALLS,
) -> Run:
    """Run a scenario; return what was seen, also after Ctrl-C (then `interrupted` is true).

    Raises BenchError when the topology cannot be brought up.
    """
    if languages is not None:
        groups = tuple(group for group in scenario.groups if group.language in (*languages, "raw"))
        scenario = replace(scenario, groups=groups)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = Run(scenario.name, scenario.title, command, now, story=scenario.story, machine=machine.describe())
    began = time.monotonic()
    with scratch("onewrite-bench-") as directory:
        _run_in(directory, scenario, console, run, parallel, generator, rule)
    run.seconds = round(time.monotonic() - began, 1)
    console.finish()
    judged = rule.judge(run.cells)
    rule.settle(judged, run.earlier, machine.busy)
    counts = bool((scenario.parameters.get("rates") or {}).get("counts"))
    at_rates = rates.judge(run.rates, counts)
    settle.settle(at_rates, {}, machine.busy)
    run.verdicts += judged + at_rates
    run.exit_status = _exit_status(run, scenario, rule)
    return run


def _exit_status(run: Run, scenario: Scenario, rule: Rule) -> int:
    if run.interrupted:
        return 130
    if run.skipped or scenario.kind != "post":  # what only shows something cannot be inconclusive
        return 1 if any(line.state in verdict.FAULTS for line in run.verdicts) else 0
    return rule.exit_status(run.verdicts)


def _run_in(
    directory: Path,
    scenario: Scenario,
    console: Console,
    run: Run,
    parallel: bool,
    generator: Generator | None,
    rule: Rule,
) -> None:
    with Children(directory) as children:
        stops: list[Callable[[], None]] = []
        try:
            if scenario.kind != "post":
                wan(scenario, directory, console, run)
                return
            places = Places(children, scenario.topology, directory)
            if scenario.parameters.get("unknown"):
                scenario, unfit = preflight.examine(scenario, places, console.say)
                run.verdicts += unfit
            clients = Clients(places)
            engine = PostEngine(scenario, places, console, clients, parallel, rule.enough)
            stops += [engine.stop, clients.stop]
            run.earlier.update(repeat.measure(engine, scenario.groups, console, run.cells, rule))
            run.notes += engine.notes
            if generator is not None and "rates" in scenario.parameters:
                rated = RateEngine(scenario, places, console, clients, generator)
                stops.insert(0, rated.stop)
                rated.run(scenario.groups, run.rates)
                nothing = rated.nothing_measured(run.rates)
                run.verdicts += [nothing] if nothing else []
        except KeyboardInterrupt:
            run.interrupted = True
        finally:
            for stop in stops:
                stop()
