"""The engine of `rates` scenarios: a generator loads each client's bridge, a small service that POSTs upstream.

The clients of a language take turns: the control, the adapter, and the bridge alone, which answers without a request
upstream. One rate is below what connections that stall can carry, one above it. This part shows, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.engines.generators import BuiltIn, Generator, Plan
from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Group, Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import Cell, RateResult, Run

__all__ = ["agreement", "doubt", "measure"]

MOST_LATE = 0.05
RATE_TOLERANCE = 0.02
ALONE = "bridge alone"


@dataclass
class _Part:
    """One client's bridge at one rate by one generator, for as many turns as the plan has."""

    row: RateResult
    generator: Generator
    plan: Plan


def measure(
    scenario: Scenario, places: Places, clients: Clients, generators: Sequence[Generator], console: Console, run: Run
) -> None:
    """Add a row per client and rate to the run. Each generator loads the first language, the first one the others."""
    turns = (scenario.parameters.rates or {})["turns"]
    for number, group in enumerate(scenario.groups):
        console.plan(turns)
        drivers: list[Driver] = []
        try:
            parts = _parts(
                scenario, group, places, clients, generators if number == 0 else generators[:1], drivers, run
            )
            for turn in range(turns):
                for part in parts[turn % len(parts) :] + parts[: turn % len(parts)] if parts else []:
                    _take(part)
                console.step(f"{group.name}: turn {turn + 1} of {turns}")
        finally:
            for driver in drivers:
                clients.finish(driver)
    for row in run.rates:
        row.missing = row.missing or doubt(row)
    run.notes.append(agreement(run.rates))


def _parts(
    scenario: Scenario,
    group: Group,
    places: Places,
    clients: Clients,
    generators: Sequence[Generator],
    drivers: list[Driver],
    run: Run,
) -> list[_Part]:
    """Start the bridges of a group. Adds their drivers to `drivers` and their rows to the run."""
    plan = scenario.parameters.rates or {}
    upstream = places.url(group.targets[0])
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
        names = [client.label] + ([ALONE] if client.role == "adapter" else [])
        for name in names:
            for generator in generators:
                for rate in (plan["below"], plan["above"]):
                    row = RateResult(group.name, name, rate, generator.name, rate == plan["above"], why.base)
                    row.missing = why.missing
                    run.rates.append(row)
                    if why.missing is None:
                        made = Plan(f"{bridge}/", rate, plan["pool"], plan["seconds"], plan["warmup"])
                        alone = replace(made, url=f"{bridge}/null", method="GET", body_bytes=0)
                        parts.append(_Part(row, generator, alone if name == ALONE else made))
    return parts


def _take(part: _Part) -> None:
    if part.row.missing is None:
        try:
            part.row.turns.append(part.generator.run(part.plan))
            if part.row.overload:
                part.row.turns[-1].pop("latencies_us", None)  # of a queue that grows
        except BenchError as error:
            part.row.missing = str(error)


def doubt(row: RateResult) -> str | None:
    """The reason why the figures mean nothing, or None. An overloaded client may miss the rate."""
    late = sum(turn["late_sends"] or 0 for turn in row.turns)
    requests = sum(turn["requests"] for turn in row.turns)
    if late > MOST_LATE * requests:
        return f"the generator itself sent {late} of {requests} requests late"
    missed = [turn["reached"] for turn in row.turns if abs(turn["reached"] - row.rate) > RATE_TOLERANCE * row.rate]
    if missed and not row.overload:
        return f"{missed[0]:g} of {row.rate} requests per second were reached"
    return None


def agreement(rows: Sequence[RateResult]) -> str:
    """A sentence: whether wrk2 and the built-in generator saw the same below the overload."""
    pairs = []
    for row in rows:
        if row.generator != BuiltIn.name and row.turns and not row.overload:
            same = (row.group, row.client, row.rate)
            pairs += [(row, one) for one in rows if one.turns and one.generator == BuiltIn.name
                      and (one.group, one.client, one.rate) == same]  # fmt: skip
    if not pairs:
        return "wrk2 was not here, so its comparison with the built-in generator did not run."
    apart = [f"{row.group}, {row.client}" for row, other in pairs if not _overlap(row, other)]
    if apart:
        return f"wrk2 and the built-in generator do not agree within their spread: {'; '.join(apart)}."
    return f"wrk2 and the built-in generator agree within their spread, in {len(pairs)} of {len(pairs)} rows."


def _overlap(one: RateResult, other: RateResult) -> bool:
    """Whether the medians of the turns overlap. wrk2 waits in whole milliseconds, so 1 ms is no difference."""
    (low, high), (low_2, high_2) = (
        (min(turn["p50_us"] for turn in row.turns), max(turn["p50_us"] for turn in row.turns)) for row in (one, other)
    )
    return bool(low <= high_2 + 1000 and low_2 <= high + 1000)
