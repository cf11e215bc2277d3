"""The constant-rate part of a scenario: a generator loads each client's bridge, a small service that POSTs upstream.

The rates come from the control's capacity: a pool of 10 that stalls 45 ms per POST carries 222 a second. Below that the
stall is a delay; above it the queue grows without end. This part shows, and judges nothing.
"""

from __future__ import annotations

from onewrite_conformance.driver import DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.engines.generators import Generator, Plan
from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import Cell, RateResult, Run

__all__ = ["doubt", "measure"]

LATE_US = 5_000
RATE_TOLERANCE = 0.02
STEPS = 10
"""A row takes as long as ten turns of the closed loop."""


def measure(
    scenario: Scenario, places: Places, clients: Clients, generator: Generator, console: Console, run: Run
) -> None:
    """Add a row per client and rate to the run. The clients take turns: two cores are for one of them."""
    plan = scenario.parameters.rates or {}
    upstream = places.url(next(target for target in scenario.targets if target.name == plan["target"]))
    capacity = plan["pool"] * 1000 / plan["stall_ms"]
    jobs = []
    for group in scenario.groups:
        for client in group.clients if group.required else ():
            if client.role in ("control", "adapter"):
                rates = [round(share * capacity) for share in plan["of_capacity"]]
                rows = [RateResult(group.name, client.label, rate, generator.name) for rate in rates]
                run.rates += rows
                jobs.append((group, client, rows))
    console.plan(len(run.rates) * STEPS)
    for group, client, rows in jobs:
        why = Cell(group.name, group.language, client.label, client.role, "", False)
        driver = clients.start(group, client, [why])
        try:
            if driver is not None:
                bridge = f"http://127.0.0.1:{driver.serve(driver.open(pool_size=plan['pool']), upstream)}"
                floor = RateResult("", "", rows[0].rate)
                generator.run(Plan(f"{bridge}/null", floor.rate, plan["pool"], 1, method="GET", body_bytes=0), floor)
                for row in rows:
                    generator.run(Plan(f"{bridge}/", row.rate, plan["pool"], plan["seconds"], plan["warmup"]), row)
                    row.floor_us = floor.p50_us
                    row.missing = doubt(row, client.role == "control" and row.rate > capacity)
                    console.step(f"{row.group}: {row.client} at {row.rate} requests/s, {generator.name}", STEPS)
        except (DriverFault, DriverSkipped, BenchError) as error:
            why.missing = first_line(error) if isinstance(error, DriverFault) else str(error)
        finally:
            if driver is not None:
                clients.finish(driver)
        for row in rows:
            row.missing = row.missing or (None if row.requests else why.missing)


def doubt(row: RateResult, may_collapse: bool) -> str | None:
    """The reason why the figures mean nothing, or None. An overloaded client may fall behind the offered rate."""
    if row.missing or not row.requests:
        return row.missing or "no request was answered"
    if row.late_us is not None and row.late_us > LATE_US:
        return f"the generator itself was {row.late_us / 1000:.1f} ms late at its 90th percentile"
    if abs(row.reached - row.rate) > RATE_TOLERANCE * row.rate and not may_collapse:
        return f"{row.reached:g} of {row.rate} requests per second were reached"
    return None
