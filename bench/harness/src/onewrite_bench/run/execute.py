"""Runs one scenario from topology to verdict. Its processes end with it, also after Ctrl-C."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from onewrite_lab.servers.children import Children

from onewrite_bench.console import Console
from onewrite_bench.engines import rates, records, repeat
from onewrite_bench.engines.clients import Clients
from onewrite_bench.engines.generators import Generator
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.engines.wan import wan
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict import judge as verdict
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["LANES", "execute"]

LANES = 4
"""The number of groups that run side by side where no figure is published. They mostly wait."""


def execute(
    scenario: Scenario,
    console: Console,
    command: str,
    languages: Sequence[str] | None = None,
    generators: Sequence[Generator] = (),
    lanes: int = 1,
) -> Run:
    """Run a scenario and judge it. Raises BenchError when the topology cannot be brought up.

    `generators` are those of the kind `rates`; `lanes` groups run side by side where only the verdicts count.
    """
    if languages is not None:
        groups = tuple(group for group in scenario.groups if group.language in (*languages, "raw"))
        scenario = replace(scenario, groups=groups)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = Run(scenario.name, scenario.title, command, now, story=scenario.story, machine=machine.describe())
    began = time.monotonic()
    with TemporaryDirectory(prefix="onewrite-bench-", ignore_cleanup_errors=True) as directory:
        _run_in(Path(directory), scenario, console, run, generators, lanes)
    run.seconds = round(time.monotonic() - began, 1)
    console.finish()
    run.verdicts += verdict.judge(run.cells)
    verdict.settle(run.verdicts, run.earlier)
    run.exit_status = _exit_status(run, scenario)
    return run


def _exit_status(run: Run, scenario: Scenario) -> int:
    """A scenario without a required adapter can fail, but it cannot be inconclusive."""
    if run.skipped:
        return 0
    if scenario.kind == "rates":
        return run.exit_status  # 1 if the generators differ
    adapters = [client for group in scenario.groups if group.required for client in group.clients]
    if not any(client.role == "adapter" for client in adapters):
        return 1 if any(line.state == "faulty" for line in run.verdicts) else 0
    return verdict.exit_status(run.verdicts)


def _run_in(
    directory: Path, scenario: Scenario, console: Console, run: Run, generators: Sequence[Generator], lanes: int
) -> None:
    with Children(directory) as children, ExitStack() as stops:
        if scenario.kind == "wan":
            wan(scenario, directory, console, run)
            return
        servers = Servers(children, scenario.topology, directory)
        clients = Clients(servers)
        stops.callback(clients.stop)
        if scenario.kind == "records":
            records.measure(scenario, servers, clients, console, run)
        elif scenario.kind == "rates":
            rates.measure(scenario, servers, clients, generators, console, run)
        else:
            engine = PostEngine(scenario, servers, console, clients, lanes)
            stops.callback(engine.stop)
            run.earlier.update(repeat.measure(engine, scenario.groups, console, run.cells))
            run.notes += engine.notes
