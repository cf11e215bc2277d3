"""The constant-rate part of a scenario: a generator drives each client's bridge at fixed rates.

The rates come from the control's capacity: a pool of 10 that stalls 45 ms per POST carries 222 a second. Below that
the stall is a delay; above it the queue grows without end. The bridge's own floor (`GET /null`, answered without
going upstream) is measured beside it, and the driver's in-process load gives raw samples without a bridge.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import LATE_US, Measurement
from onewrite_bench.generators.plan import Generator, Plan
from onewrite_bench.scenario import Client, Group, Scenario
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import RateResult, Verdict

__all__ = ["RateEngine", "judge"]

P50_RATIO = 0.25
IN_PROCESS_S = 2
_WEIGHT = 10  # a row here takes as long as ten turns of the closed loop


class RateEngine:
    def __init__(
        self, scenario: Scenario, places: Places, console: Console, clients: Clients, generator: Generator
    ) -> None:
        self._places = places
        self._console = console
        self._clients = clients
        self._generator = generator
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._floors: dict[str, dict[str, Any]] = {}
        plan: dict[str, Any] = scenario.parameters["rates"]
        self._target = next(target for target in scenario.targets if target.name == plan["target"])
        self._pool = int(plan["pool"])
        self._seconds = int(plan["seconds"])
        self._lanes = int(plan.get("lanes", 1))
        capacity = self._pool / (plan["stall_ms"] / 1000)
        self._roles: list[str] = plan.get("roles", ["control", "shown", "adapter"])
        self._warmup = int(plan.get("warmup", 1))
        self._rates = [(float(share), round(share * capacity)) for share in plan["of_capacity"]]
        self._failure: str | None = None

    def run(self, groups: Sequence[Group], results: list[RateResult]) -> None:
        """Fill `results`, one row per client and rate; a client that cannot is one row that says why."""
        jobs: queue.SimpleQueue[tuple[Group, Client, list[RateResult]]] = queue.SimpleQueue()
        for group in groups:
            for client in self._driven(group):
                mine = [
                    RateResult(group.name, group.language, client.label, client.role, self._target.name, rate, share)
                    for share, rate in self._rates
                ]
                results += mine
                jobs.put((group, client, mine))
        self._console.plan(jobs.qsize() * len(self._rates) * _WEIGHT)
        lanes = [threading.Thread(target=self._lane, args=(jobs,), daemon=True) for _ in range(self._lanes)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            while lane.is_alive():
                lane.join(0.2)

    def stop(self) -> None:
        self._stopping.set()

    def _lane(self, jobs: queue.SimpleQueue[tuple[Group, Client, list[RateResult]]]) -> None:
        """One client after the other. Too many lanes for the machine make a generator late, and it says so."""
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
            except DriverSkipped as skip:
                _mark(mine, "skipped", str(skip))
            except DriverFault as fault:
                _mark(mine, "failed", first_line(fault))
            except BenchError as error:
                self._failure = str(error)
                _mark(mine, "failed", str(error))
            except Exception as error:
                if not self._stopping.is_set():
                    _mark(mine, "failed", f"the bench itself: {type(error).__name__}: {error}")
            finally:
                self._clients.finish(driver)

    def _driven(self, group: Group) -> list[Client]:
        """The clients to drive: none of a group that is not required, and no bare socket, which has no bridge."""
        if group.language == "raw" or not group.required:
            return []
        return [client for client in group.clients if client.language is None and client.role in self._roles]

    def _drive(self, driver: Driver, rows: list[RateResult]) -> None:
        url = self._places.url(self._target)
        client_id = driver.open(pool_size=self._pool)
        bridge = f"http://127.0.0.1:{driver.serve(client_id, url, connections=self._pool)}"
        floor = self._floor(rows[0], bridge)
        for row in rows:
            row.floor = floor
            collapses = row.role == "control" and row.of_capacity > 1
            plan = Plan(f"{bridge}/", row.rate, self._pool, self._seconds, warmup=self._warmup)
            seen = self._measure(plan, collapses)
            row.measurement = seen.to_json()
            self._console.step(f"{row.group}: {row.client} at {row.rate:g} requests/s, {self._generator.name}", _WEIGHT)
            load: dict[str, Any] = {
                "method": "POST",
                "url": url,
                "body": {"kind": "bytes", "size": 200},
                "mode": "open",
            }
            # The adapter's own hooks say which phase a call spent its time in; stock clients have none.
            hooks = {"hooks": "timing"} if "timing" in driver.capabilities else {}
            client = driver.open(pool_size=self._pool, **hooks)
            reply = driver.load(client, **load, rate=row.rate, connections=self._pool, seconds=IN_PROCESS_S)
            driver.close(client)
            row.in_process = {
                "latency_p50_us": round(stats.percentile(reply["latencies_us"] or [0], 50)),
                "service_p50_us": round(stats.percentile(reply.get("service_us") or [0], 50)),
                "requests": len(reply["latencies_us"]),
                "errors": reply["errors"],
                "phases_p50_us": {
                    name.removesuffix("_us"): round(stats.percentile(samples, 50))
                    for name, samples in (reply.get("phases") or {}).items()
                    if samples
                },
            }
            if collapses:
                row.measurement = seen.judge_reach(row.in_process["service_p50_us"]).to_json()

    def _floor(self, row: RateResult, bridge: str) -> dict[str, Any]:
        """What the same path takes without going upstream; the bridge is one program per language, whoever sends."""
        with self._lock:
            known = self._floors.get(row.group)
        if known is None:
            plan = Plan(f"{bridge}/null", row.rate, self._pool, 1, "GET", 0)
            known = self._measure(plan, may_collapse=False).to_json()
            with self._lock:
                self._floors[row.group] = known
        return known

    def _measure(self, plan: Plan, may_collapse: bool) -> Measurement:
        """Run the generator; again, at most twice, when it was late or the client slow: a pause of the machine under a
        constant rate leaves a queue behind, and a busy machine has quieter moments.
        """
        for _ in range(3):
            seen = self._generator.run(plan).judge(may_collapse)
            late = seen.slip_p90_us is not None and seen.slip_p90_us > LATE_US
            slow = not may_collapse and (seen.latency.percentile_us(50) or 0) > stats.STALL_US
            if not late and not slow:
                break
        return seen

    def nothing_measured(self, rows: Sequence[RateResult]) -> Verdict | None:
        """A verdict that the generator failed and measured nothing, which must not pass for a result."""
        tried = [row for row in rows if not row.skipped]
        empty = [row for row in tried if row.measurement is None or row.measurement["requests"] <= 0]
        if not tried or len(empty) < len(tried):
            return None
        voids = [str(row.measurement["void"]) for row in tried if row.measurement is not None]
        why = self._failure or next(iter(voids), None)
        if why is None:
            return None
        hint = "" if self._generator.name == "built-in" else "; GENERATOR=built-in takes the bench's own"
        return Verdict("constant rate", "inconclusive", f"{self._generator.name} measured nothing: {why}{hint}", True)


def _mark(rows: Sequence[RateResult], field: str, why: str) -> None:
    for row in rows:
        if row.measurement is None:
            setattr(row, field, why)


def judge(rows: Sequence[RateResult], counts: bool = False) -> list[Verdict]:
    """One verdict per adapter and rate. A run needs them to be conclusive only where they count."""
    verdicts = []
    for row in rows:
        if row.role != "adapter":
            continue
        subject = f"{row.group} at {row.rate:g}/s"
        control = next((r for r in rows if (r.group, r.role, r.rate) == (row.group, "control", row.rate)), None)
        state, text = _judge_row(row, control)
        verdicts.append(Verdict(subject, state, text, counts, {"calm": True}))
    return verdicts


def _judge_row(row: RateResult, control: RateResult | None) -> tuple[str, str]:
    for name, side in (("adapter", row), ("control", control)):
        if side is None or side.measurement is None:
            why = (side.failed or side.skipped) if side else None
            return "not run", f"no measurement of the {name} ({why})"
        if side.measurement["void"]:
            return "inconclusive", f"{name}: {side.measurement['void']}"
    assert control is not None
    mine, other = row.p50_us or 0.0, control.p50_us or 0.0
    if other < stats.STALL_US:
        return "inconclusive", f"the control's p50 was {other / 1000:.2f} ms: it did not stall"
    text = f"control p50 {other / 1000:.4g} ms, adapter {mine / 1000:.3g} ms"
    return ("slow" if mine > other * P50_RATIO else "clean"), text
