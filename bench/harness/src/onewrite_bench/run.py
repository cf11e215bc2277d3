"""Runs one scenario from topology to verdict and leaves no process behind, however it ends."""

from __future__ import annotations

import datetime
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from . import machine, rates, verdict
from .children import Children
from .clients import Clients
from .console import Console
from .engines import ENGINES
from .generators import Generator
from .places import Places
from .post import PostEngine
from .rates import RateEngine
from .results import Cell, Run
from .scenario import Scenario

__all__ = ["execute"]


def execute(
    scenario: Scenario,
    console: Console,
    command: str,
    languages: Sequence[str] | None = None,
    parallel: bool = False,
    generator: Generator | None = None,
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
    with tempfile.TemporaryDirectory(prefix="onewrite-bench-") as directory:
        _run_in(Path(directory), scenario, console, run, parallel, generator)
    run.seconds = round(time.monotonic() - began, 1)
    console.finish()
    run.verdicts += verdict.judge(run.cells) + rates.judge(run.rates)
    verdict.settle(run.verdicts, machine.busy())
    run.exit_status = _exit_status(run, scenario)
    return run


def _exit_status(run: Run, scenario: Scenario) -> int:
    if run.interrupted:
        return 130
    if run.skipped or scenario.kind != "post":  # what only shows something cannot be inconclusive
        return 1 if any(line.state == "stalls" for line in run.verdicts) else 0
    return verdict.exit_status(run.verdicts)


def _again_where_slow(engine: PostEngine, scenario: Scenario, console: Console, run: Run) -> None:
    """A group that looked slow, but did not clearly stall, is measured once more before it is judged."""
    slow = {line.details["group"] for line in verdict.judge(run.cells) if line.state == "slow"}
    again = [group for group in scenario.groups if group.name in slow]
    if not again:
        return
    console.say(f"{', '.join(group.name for group in again)}: slow without a clear stall; once more")
    first = [cell for cell in run.cells if cell.group not in slow]
    second: list[Cell] = []
    engine.run(again, second.extend)
    order = [group.name for group in scenario.groups]
    run.cells[:] = sorted(first + second, key=lambda cell: order.index(cell.group))


def _run_in(
    directory: Path, scenario: Scenario, console: Console, run: Run, parallel: bool, generator: Generator | None
) -> None:
    def publish(cells: list[Cell]) -> None:
        run.cells += cells

    with Children(directory) as children:
        stops: list[Callable[[], None]] = []
        try:
            if scenario.kind != "post":
                ENGINES[scenario.kind](scenario, children, directory, console, run)
                return
            places = Places(children, scenario.topology, directory)
            clients = Clients(places)
            engine = PostEngine(scenario, places, console, clients, parallel)
            stops += [engine.stop, clients.stop]
            engine.run(scenario.groups, publish)
            _again_where_slow(engine, scenario, console, run)
            run.notes += engine.notes
            if generator is not None and "rates" in scenario.parameters:
                RateEngine(scenario, places, console, clients, generator).run(scenario.groups, run.rates)
        except KeyboardInterrupt:
            run.interrupted = True
        finally:
            for stop in stops:
                stop()
