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
from onewrite_bench.engines import rates, records, repeat
from onewrite_bench.engines.clients import Clients
from onewrite_bench.engines.generators import Generator
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.engines.wan import wan
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import judge as verdict
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["LANES", "execute"]

LANES = 4
"""Groups that run side by side where no figure is published. They mostly wait."""


def execute(
    scenario: Scenario,
    console: Console,
    command: str,
    languages: Sequence[str] | None = None,
    generators: Sequence[Generator] = (),
    lanes: int = 1,
) -> Run:
    """Run a scenario; return what was seen, also after Ctrl-C (then `interrupted` is true).

    `generators` are those of the kind `rates`; `lanes` groups run side by side where only the verdicts count.
    Raises BenchError when the topology cannot be brought up.
    """
    if languages is not None:
        groups = tuple(group for group in scenario.groups if group.language in (*languages, "raw"))
        scenario = replace(scenario, groups=groups)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = Run(scenario.name, scenario.title, command, now, story=scenario.story, machine=machine.describe())
    began = time.monotonic()
    with scratch("onewrite-bench-") as directory:
        _run_in(directory, scenario, console, run, generators, lanes)
    run.seconds = round(time.monotonic() - began, 1)
    console.finish()
    judged = verdict.judge(run.cells)
    verdict.settle(judged, run.earlier)
    run.verdicts += judged
    run.exit_status = _exit_status(run, scenario)
    return run


def _exit_status(run: Run, scenario: Scenario) -> int:
    """A scenario without a required adapter can fail, but it cannot be inconclusive."""
    if run.interrupted:
        return 130
    if run.skipped:
        return 0
    if scenario.kind == "rates":
        return run.exit_status  # that the generators agree
    adapters = [client for group in scenario.groups if group.required for client in group.clients]
    if not any(client.role == "adapter" for client in adapters):
        return 1 if any(line.state == "faulty" for line in run.verdicts) else 0
    return verdict.exit_status(run.verdicts)


def _run_in(
    directory: Path, scenario: Scenario, console: Console, run: Run, generators: Sequence[Generator], lanes: int
) -> None:
    with Children(directory) as children:
        stops: list[Callable[[], None]] = []
        try:
            if scenario.kind == "wan":
                wan(scenario, directory, console, run, stops)
                return
            places = Places(children, scenario.topology, directory)
            clients = Clients(places)
            if scenario.kind == "records":
                stops.append(clients.stop)
                records.watch(scenario, places, clients, console, run)
                return
            if scenario.kind == "rates":
                stops.append(clients.stop)
                rates.measure(scenario, places, clients, generators, console, run)
                return
            engine = PostEngine(scenario, places, console, clients, lanes)
            stops += [engine.stop, clients.stop]
            run.earlier.update(repeat.measure(engine, scenario.groups, console, run.cells))
            run.notes += engine.notes
        except KeyboardInterrupt:
            run.interrupted = True
        finally:
            for stop in stops:
                stop()
