"""The engine of `rates` scenarios: a generator loads each client's bridge, a small service that POSTs upstream.

The control and the adapter of a language take turns at each rate. A client that does not reach a rate is saturated.
No adapter is judged. At a single rate the two generators are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.engines.generators import BuiltIn, Generator, Plan
from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Group, Scenario
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import Cell, RateResult, Run

__all__ = ["differences", "doubt", "measure"]

MOST_LATE = 0.05
APART: dict[str, tuple[float, float]] = {"p50_us": (1_000, 0.1), "p99_us": (2_000, 0.25)}
"""The most that generators may differ: microseconds, and a share of the figure. wrk2 waits in whole milliseconds."""
REACHED_APART = 0.05


@dataclass
class _Part:
    """One client's bridge at one rate by one generator, for as many turns as the plan has."""

    row: RateResult
    generator: Generator
    plan: Plan


def measure(
    scenario: Scenario, servers: Servers, clients: Clients, generators: Sequence[Generator], console: Console, run: Run
) -> None:
    """Add a row per client and rate to the run. At a single rate, the first language is loaded by each generator."""
    plan = scenario.parameters.rates or {}
    turns, single = plan["turns"], len(plan["rates"]) == 1
    for number, group in enumerate(scenario.groups):
        drivers: list[Driver] = []
        try:
            chosen = generators if single and number == 0 else generators[:1]
            parts = _parts(scenario, group, servers, clients, chosen, drivers, run)
            console.plan(turns * len(parts))
            for turn in range(turns):
                for part in parts[turn % len(parts) :] + parts[: turn % len(parts)] if parts else []:
                    _run_turn(part)
                    console.step(f"{group.name}: turn {turn + 1} of {turns}")
        finally:
            for driver in drivers:
                clients.finish(driver)
    for row in run.rates:
        row.missing = row.missing or doubt(row)
    compared = len(generators) > 1 and single and not any(row.missing for row in run.rates)
    differ = differences(run.rates)
    run.exit_status = 1 if differ else 0
    if differ:
        run.notes.append(f"wrk2 and the built-in generator differ: {'; '.join(differ)}.")
    elif compared:
        run.notes.append(f"The built-in generator confirms wrk2's p50 and p99 for {run.rates[0].group}.")


def _parts(
    scenario: Scenario,
    group: Group,
    servers: Servers,
    clients: Clients,
    generators: Sequence[Generator],
    drivers: list[Driver],
    run: Run,
) -> list[_Part]:
    """Start the bridges of a group. Adds their drivers to `drivers` and their rows to the run."""
    plan = scenario.parameters.rates or {}
    upstream = servers.url(group.targets[0])
    parts: list[_Part] = []
    for client in group.clients:
        if client.role not in ("control", "adapter"):
            continue
        why = Cell(group.name, group.language, client.label, client.role, "", False)
        driver = clients.start(group, client, [why])
        try:
            if driver is not None:
                drivers.append(driver)
                bridge = f"http://127.0.0.1:{driver.serve(driver.open(pool_size=plan['pool']), upstream)}"
        except (DriverFault, DriverSkipped) as error:
            why.missing = first_line(error) if isinstance(error, DriverFault) else str(error)
        for generator in generators:
            for rate in plan["rates"]:
                row = RateResult(group.name, client.label, rate, generator.name, base=why.base, missing=why.missing)
                run.rates.append(row)
                if why.missing is None:
                    made = Plan(f"{bridge}/", rate, plan["pool"], plan["seconds"], plan["warmup"])
                    parts.append(_Part(row, generator, made))
    return parts


def _run_turn(part: _Part) -> None:
    if part.row.missing is None:
        try:
            part.row.turns.append(part.generator.run(part.plan))
        except BenchError as error:
            part.row.missing = str(error)


def doubt(row: RateResult) -> str | None:
    """Return the reason why the figures mean nothing, or None."""
    late = sum(turn["late_sends"] or 0 for turn in row.turns)
    requests = sum(turn["requests"] for turn in row.turns)
    return f"the generator itself sent {late} of {requests} requests late" if late > MOST_LATE * requests else None


def differences(rows: Sequence[RateResult]) -> list[str]:
    """The figures in which wrk2 and the built-in generator differ by more than their turns do."""
    built_in = {(row.group, row.client): row for row in rows if row.generator == BuiltIn.name}
    return [
        text
        for row in rows
        if row.generator != BuiltIn.name and (row.group, row.client) in built_in
        for text in _apart(row, built_in[row.group, row.client])
    ]


def _apart(one: RateResult, other: RateResult) -> list[str]:
    if one.missing or other.missing:
        return []
    if one.saturated or other.saturated:
        names: dict[str, tuple[float, float]] = {"reached": (0.0, REACHED_APART)}
    else:
        names = APART
    found = []
    for name, (least, share) in names.items():
        low, high, low_2, high_2 = (f(turn[name] for turn in row.turns) for row in (one, other) for f in (min, max))
        if max(low, low_2) - min(high, high_2) > least + share * min(high, high_2):
            where = f"{one.group}, {one.client} at {one.rate}/s: {name.removesuffix('_us')}"
            found.append(f"{where} {low:g}–{high:g} against {low_2:g}–{high_2:g}")
    return found
