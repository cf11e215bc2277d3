"""The engine of `records` scenarios: an adapter's timing records of waits that no client can fix."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.scenario import Client, Scenario, Target
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import Cell, Run

__all__ = ["measure"]

WARM_UP = 16
ROUNDS = 5
"""The requests of a row are split into so many rounds, for their spread."""


def measure(scenario: Scenario, servers: Servers, clients: Clients, console: Console, run: Run) -> None:
    """Add a row per target and client to `run.records`, one process per client and nothing side by side."""
    for group in scenario.groups:
        console.plan(len(group.targets) * len(group.clients))
        for client in group.clients:
            why = Cell(group.name, group.language, client.label, client.role, "", False)
            driver = clients.start(group, client, [why])
            if driver is None:
                run.notes.append(f"{group.name}, {client.label}: not run: {why.missing}")
                continue
            run.base = why.base
            for target in group.targets:
                try:
                    seen = _timings(driver, client, target, servers, scenario.parameters.requests)
                    run.records.append([target.name, client.label, *_row(seen)])
                except DriverFault as fault:
                    run.notes.append(f"{target.name}: not run: {first_line(fault)}")
                except DriverSkipped as skip:
                    run.notes.append(f"{target.name}: not run: {skip}")
                console.step(f"{client.label} at {target.name}")
            clients.finish(driver)


def _timings(driver: Driver, client: Client, target: Target, servers: Servers, count: int) -> list[dict[str, Any]]:
    opened = driver.open(pool_size=1, hooks="timing", **client.options)
    body = client.body or target.body or {"kind": "bytes", "size": 200}
    found = []
    for _ in range(WARM_UP + count):
        reply = driver.request(opened, "POST", servers.url(target), body=body)
        if reply["outcome"] != "response":
            raise DriverSkipped(f"a request failed: {reply.get('error')}")
        found += reply["records"]
        time.sleep(target.pause_ms / 1000)
    driver.close(opened)
    return found[WARM_UP:]


def _row(timings: Sequence[dict[str, Any]]) -> list[str]:
    """Medians of the phases in ms with the lowest and the highest of a round, and the causes with their counts."""

    def p50(values: Sequence[int | None]) -> str:
        there = [value / 1e6 for value in values if value is not None]
        size = max(1, len(there) // ROUNDS)
        rounds = [statistics.median(there[at : at + size]) for at in range(0, len(there), size)]
        return f"{statistics.median(there):.1f} ({min(rounds):.1f}–{max(rounds):.1f})" if there else "-"

    causes = Counter(timing.get("cause") or "none" for timing in timings)
    return [
        p50([timing.get("wait_ns") for timing in timings]),
        p50([(timing.get("kernel") or {}).get("send_hold_ns") for timing in timings]),
        p50([timing.get("receive_ns") for timing in timings]),
        ", ".join(f"`{cause}` {count}" for cause, count in causes.most_common()),
    ]
