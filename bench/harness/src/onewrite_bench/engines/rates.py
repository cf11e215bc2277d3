"""The constant-rate part of a scenario: a generator drives each client's bridge at fixed rates.

The rates come from the control's capacity: a pool of 10 that stalls 45 ms per POST carries 222 a second. Below that
the stall is a delay; above it the queue grows without end. It shows, it does not judge. The bridge's own floor
(`GET /null`, answered without going upstream) is measured beside it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.engines.post import wait_for
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Generator, Measurement, Plan
from onewrite_bench.scenario import Client, Group, Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import RateResult

__all__ = ["RateEngine"]

LANES = 3
"""Clients at a time, on two cores. Too many make a generator late, and it says so."""

ROLES = ("control", "adapter")
_WEIGHT = 10  # a row here takes as long as ten turns of the closed loop

Job = tuple[Group, Client, list[RateResult]]


class RateEngine:
    def __init__(
        self, scenario: Scenario, places: Places, console: Console, clients: Clients, generator: Generator
    ) -> None:
        self._places = places
        self._console = console
        self._clients = clients
        self._generator = generator
        self._stopping = threading.Event()
        plan: dict[str, Any] = scenario.parameters.rates or {}
        self._target = next(target for target in scenario.targets if target.name == plan["target"])
        self._pool = int(plan["pool"])
        self._seconds = int(plan["seconds"])
        self._warmup = int(plan["warmup"])
        capacity = self._pool / (plan["stall_ms"] / 1000)
        self._rates = [(float(share), round(share * capacity)) for share in plan["of_capacity"]]

    def run(self, groups: Sequence[Group], results: list[RateResult]) -> None:
        """Fill `results`, one row per client and rate; a client that cannot is one row that says why."""
        jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for group in groups:
            for client in group.clients if group.required else ():
                if client.role in ROLES and client.kind != "socket":
                    mine = [
                        RateResult(group.name, group.language, client.label, client.role, self._target.name, rate, of)
                        for of, rate in self._rates
                    ]
                    results += mine
                    jobs.put((group, client, mine))
        self._console.plan(jobs.qsize() * len(self._rates) * _WEIGHT)
        lanes = [threading.Thread(target=self._lane, args=(jobs,), daemon=True) for _ in range(LANES)]
        for lane in lanes:
            lane.start()
        wait_for(lanes)

    def stop(self) -> None:
        self._stopping.set()

    def _lane(self, jobs: queue.SimpleQueue[Job]) -> None:
        while not self._stopping.is_set():
            try:
                group, client, mine = jobs.get_nowait()
            except queue.Empty:
                return
            driver = self._clients.start(group, client, mine)
            if driver is None:
                continue
            try:
                self._drive(driver, mine)
            except DriverFault as fault:
                _mark(mine, first_line(fault))
            except (DriverSkipped, BenchError) as error:
                _mark(mine, str(error))
            except Exception as error:
                if not self._stopping.is_set():
                    _mark(mine, f"the bench itself: {type(error).__name__}: {error}")
            finally:
                self._clients.finish(driver)

    def _drive(self, driver: Driver, rows: list[RateResult]) -> None:
        client_id = driver.open(pool_size=self._pool)
        bridge = f"http://127.0.0.1:{driver.serve(client_id, self._places.url(self._target), connections=self._pool)}"
        floor = self._measure(Plan(f"{bridge}/null", rows[0].rate, self._pool, 1, "GET", 0), False)
        for row in rows:
            row.floor_p50_us = floor.p50_us
            plan = Plan(f"{bridge}/", row.rate, self._pool, self._seconds, warmup=self._warmup)
            collapses = row.role == "control" and row.of_capacity > 1
            row.measurement = self._measure(plan, collapses).to_json()
            self._console.step(f"{row.group}: {row.client} at {row.rate:g} requests/s, {self._generator.name}", _WEIGHT)

    def _measure(self, plan: Plan, may_collapse: bool) -> Measurement:
        """Run the generator; again, at most twice, when the result is void: a busy machine has quieter moments."""
        for _ in range(3):
            seen = self._generator.run(plan).judge(may_collapse)
            if seen.void is None or self._stopping.is_set():
                break
        return seen


def _mark(rows: Sequence[RateResult], why: str) -> None:
    for row in rows:
        if row.measurement is None:
            row.missing = why
