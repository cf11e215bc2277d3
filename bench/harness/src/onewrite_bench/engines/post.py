"""The engine of `post` scenarios: clients of a group take turns at every target, round after round.

Each client is a driver process with its own pool. Before and after each turn the witness reads the client's sockets
from outside, so segments and TCP_NODELAY are the kernel's word, not the client's, over TLS and behind a proxy too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_lab import witness

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line, mark
from onewrite_bench.engines.cpu import cpu_ns
from onewrite_bench.engines.threads import wait_for
from onewrite_bench.scenario import Client, Group, Scenario, Target
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Cell

__all__ = ["Enough", "PostEngine"]

Enough = Callable[[Sequence[Cell]], bool]
"""Whether a group's cells say so much after a round that the other rounds are not needed."""


@dataclass
class _Turn:
    """What one cell repeats in each round."""

    cell: Cell
    target: Target
    driver: Driver
    client_id: int
    peer_port: int
    load: dict[str, Any]
    options: dict[str, Any]
    can_witness: bool = True


class PostEngine:
    """Runs the groups of one scenario. After `stop` no further turn is taken."""

    def __init__(
        self,
        scenario: Scenario,
        places: Places,
        console: Console,
        clients: Clients,
        parallel: bool,
        enough: Enough | None = None,
    ) -> None:
        self._scenario = scenario
        self._places = places
        self._console = console
        self._parallel = parallel or bool(scenario.parameters.get("parallel"))
        self._stopping = threading.Event()
        self._clients = clients
        self._enough = enough or (lambda _: False)
        self._lock = threading.Lock()
        self.notes: list[str] = []
        parameters = scenario.parameters
        self._rounds = int(parameters["rounds"])
        self._processes = int(parameters.get("processes", 1))
        self._requests = int(parameters["requests"])
        self._warmup = int(parameters["warmup"])
        self._rewarm = int(parameters.get("rewarm", 0))
        self._pool = int(parameters.get("pool", 1))
        self._sizes = [int(size) for size in parameters["body_bytes"]]
        self._per_connection = int(parameters.get("requests_per_connection", 0))
        self._cpu = bool(parameters.get("cpu"))
        self._warmup_s = float(parameters.get("warmup_s", 0))
        self._requests_at = {int(size): int(count) for size, count in parameters.get("requests_at", {}).items()}

    def run(self, groups: Iterable[Group], publish: Callable[[list[Cell]], None]) -> None:
        """Run all groups; hand each group's cells to `publish` as soon as they exist (they fill up while it runs)."""
        runs = []
        for group in groups:
            for target in group.targets:
                self._places.port(target.at)  # an unknown place is an error before anything runs
            cells = self._cells(group)
            publish(cells)
            runs.append((group, cells))
            self._console.plan(len(cells) * (self._rounds + 1) * self._processes)
        threads = [threading.Thread(target=self._run_group, args=run, daemon=True) for run in runs]
        for thread in threads:
            thread.start()
            if not self._parallel:
                wait_for([thread])
        wait_for(threads)

    def stop(self) -> None:
        self._stopping.set()

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    def _cells(self, group: Group) -> list[Cell]:
        return [
            self._cell(group, client, target, size)
            for size in self._sizes
            for target in group.targets
            for client in group.clients
        ]

    def _cell(self, group: Group, client: Client, target: Target, size: int) -> Cell:
        parameters = self._scenario.parameters
        language = client.language or group.language
        cell = Cell(group.name, language, client.label, client.role, target.name, target.stalls, group.required)
        cell.beside = language != group.language and client.role == "good"
        cell.body_bytes = size
        cell.stalls = target.stalls and size <= parameters.get("stalls_up_to_bytes", size)
        most = client.segments or target.segments
        if most > 1:
            cell.extra["most_segments"] = most
        cell.extra["one_segment"] = size <= parameters.get("one_segment_up_to_bytes", size)
        cell.stall_us = int(parameters.get("stall_us", cell.stall_us))
        cell.p50_ratio = float(parameters.get("p50_ratio", cell.p50_ratio))
        if self._per_connection:
            cell.extra |= {"per_connection": True, "judge_share": False}
        if parameters.get("unknown"):
            cell.extra["unknown"] = True
        for name in ("no_loss_ratio", "round"):
            if name in parameters:
                cell.extra[name] = parameters[name]
        return cell

    def _run_group(self, group: Group, cells: list[Cell]) -> None:
        try:
            for number in range(self._processes):
                if not self._stopping.is_set() and not self._enough(cells):
                    self._run_processes(group, cells, number)
        except Exception as error:
            # After Ctrl-C drivers end in the middle of a command. Any other error fails this group alone.
            if not self._stopping.is_set():
                mark(cells, "failed", f"the bench itself: {type(error).__name__}: {error}")

    def _run_processes(self, group: Group, cells: list[Cell], attempt: int) -> None:
        """One process per client, from its start to its end; what they measure is added to the cells."""
        drivers: list[Driver] = []
        try:
            turns: list[_Turn] = []
            for client in group.clients:
                mine = [cell for cell in cells if cell.client == client.label]
                if attempt and any(cell.skipped or cell.failed for cell in mine):
                    continue
                driver = self._clients.start(group, client, mine)
                if driver is not None:
                    drivers.append(driver)
                    turns += self._open(client, group, driver, mine)
            order = {id(cell): index for index, cell in enumerate(cells)}
            turns.sort(key=lambda turn: order[id(turn.cell)])
            for number in range(self._rounds + 1):
                for turn in turns[number % len(turns) :] + turns[: number % len(turns)] if turns else []:
                    if self._stopping.is_set():
                        return
                    self._take(turn, number)
                    self._console.step(f"{group.name}: {turn.cell.client} at {turn.cell.target}")
                if self._enough(cells):
                    return
        finally:
            for driver in drivers:
                self._clients.finish(driver)

    def _open(self, client: Client, group: Group, driver: Driver, cells: list[Cell]) -> list[_Turn]:
        options: dict[str, Any] = {"pool_size": self._pool, **client.options}
        if client.api is not None:
            options["api"] = client.api
        authority = self._scenario.parameters.get("ca_file") or self._places.certificate_authority
        if authority is not None:
            options["tls_ca"] = str(authority)
        targets = {target.name: target for target in group.targets}
        turns = []
        for cell in cells:
            target = targets[cell.target]
            own = dict(options)
            if "option" in (client.proxy, target.proxy):
                own["proxy"] = self._places.proxy_url
            try:
                client_id = driver.open(**own)
            except DriverSkipped as skip:
                mark([cell], "skipped", str(skip))
                continue
            except DriverFault as fault:
                mark([cell], "failed", first_line(fault))
                continue
            peer = self._places.port("relay/proxy" if client.proxy or target.proxy else target.at)
            body = client.body or target.body
            if body is None or client.language == "raw":  # a bare socket sends bytes, whatever the libraries do
                body = {"kind": "bytes", "size": cell.body_bytes}
            load = {
                "method": "POST",
                "url": self._places.url(target),
                "body": body,
                "mode": "closed",
                "connections": 1,
            }
            if self._scenario.parameters.get("expect"):
                load["expect"] = self._scenario.parameters["expect"]
            turns.append(_Turn(cell, target, driver, client_id, peer, load, own, witness.AVAILABLE))
        return turns

    def _take(self, turn: _Turn, number: int) -> None:
        """Round 0 warms up: a fresh connection is acknowledged at once for its first requests and shows no stall."""
        if turn.cell.failed or turn.cell.skipped:
            return
        try:
            requests = self._requests_at.get(turn.cell.body_bytes, self._requests)
            warmup = 0 if self._per_connection else min(requests, self._warmup if number == 0 else self._rewarm)
            if warmup:
                turn.driver.load(turn.client_id, **turn.load, count=warmup)
            if self._per_connection:
                self._connect_and_post(turn, count_it=number > 0)
                return
            if number == 0:
                if self._warmup_s:
                    turn.driver.load(turn.client_id, **turn.load, seconds=self._warmup_s)
                return
            before = self._look(turn)
            cpu_before = cpu_ns(turn.driver.pid) if self._cpu else None
            reply = turn.driver.load(turn.client_id, **turn.load, count=requests)
            cpu_after = cpu_ns(turn.driver.pid) if self._cpu else None
            after = self._look(turn)
            if cpu_before is not None and cpu_after is not None:
                turn.cell.extra.setdefault("cpu_us", []).append((cpu_after - cpu_before) / requests / 1000)
            if self._cpu and reply["latencies_us"]:
                turn.cell.extra.setdefault("round_p50_us", []).append(stats.percentile(reply["latencies_us"], 50))
        except DriverSkipped as skip:
            mark([turn.cell], "skipped", str(skip))
            return
        except DriverFault as fault:
            if not self._stopping.is_set():
                mark([turn.cell], "failed", first_line(fault))
            return
        self._record(turn.cell, reply, before, after)

    def _connect_and_post(self, turn: _Turn, count_it: bool) -> None:
        """One fresh connection from dialling to its last answer is one sample."""
        client_id = turn.driver.open(**turn.options)
        reply = turn.driver.load(client_id, **turn.load, count=self._per_connection)
        turn.driver.close(client_id)
        if count_it:
            turn.cell.errors += reply["errors"]
            turn.cell.error_sample = turn.cell.error_sample or _sample(reply)
            if not reply["errors"]:
                turn.cell.latencies_us.append(round(sum(reply["latencies_us"])))

    def _look(self, turn: _Turn) -> dict[int, witness.SocketReading] | None:
        if not turn.can_witness:
            return None
        try:
            return {reading.local_port: reading for reading in witness.connections(turn.driver.pid, turn.peer_port)}
        except (witness.WitnessError, ProcessLookupError) as error:
            turn.can_witness = False
            with self._lock:
                note = f"Segments and TCP_NODELAY are not shown where the kernel did not let the bench look: {error}."
                if note not in self.notes:
                    self.notes.append(note)
            return None

    def _record(
        self,
        cell: Cell,
        reply: dict[str, Any],
        before: dict[int, witness.SocketReading] | None,
        after: dict[int, witness.SocketReading] | None,
    ) -> None:
        samples = [round(sample) for sample in reply["latencies_us"]]
        cell.latencies_us += samples
        cell.service_us += [round(sample) for sample in reply.get("service_us") or []]
        cell.errors += reply["errors"]
        cell.error_sample = cell.error_sample or _sample(reply)
        if before is None or after is None:
            return
        sent = 0
        used = []
        for port, reading in after.items():
            old = before.get(port)
            news = reading.data_segs_out - reading.total_retrans
            news -= old.data_segs_out - old.total_retrans if old else 0
            sent += news
            if news:  # other clients of the same process may have connections to the same place
                used.append(reading)
        cell.segments.append([sent, len(samples) + reply["errors"]])
        # A connection seen without TCP_NODELAY in any round counts as without it.
        cell.connections = max(cell.connections, len(used))
        bare = sum(1 for reading in used if not reading.nodelay)
        worst = max(bare, int(cell.extra.get("bare_connections", 0)))
        cell.extra["bare_connections"] = worst
        cell.connections_nodelay = cell.connections - worst


def _sample(reply: dict[str, Any]) -> str | None:
    """The error that a driver shows, without the trace below it."""
    return next(iter(str(reply.get("error_sample") or "").splitlines()), None)
