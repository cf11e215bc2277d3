"""The engine of `post` scenarios: clients of a group take turns at every target, round after round.

Each client is a driver process with its own pool. Before and after each turn the witness reads the client's sockets
from outside: the kernel counts segments and TCP_NODELAY, also over TLS and behind a proxy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_lab import witness

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line, mark
from onewrite_bench.scenario import Client, Group, Scenario, Target
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import Cell

__all__ = ["PostEngine", "wait_for"]

WARM_UP, WARM_UP_S, REWARM = 12, 0.3, 2
"""Linux acknowledges a fresh or an idle connection at once, and runtimes compile their code at first."""
WARM_UP_FRESH = 100
"""New connections before the first that counts: a handshake that is not compiled yet looks like a stall."""

Readings = dict[int, witness.SocketReading]


@dataclass
class _Turn:
    """The requests of a cell, repeated in each round."""

    cell: Cell
    driver: Driver
    client_id: int
    peer_port: int
    load: dict[str, Any]
    options: dict[str, Any]


class PostEngine:
    """Runs the groups of one scenario. After `stop` no further turn begins.

    One group runs at a time, or `lanes` groups where only verdicts count: they would disturb each other's figures.
    """

    def __init__(
        self, scenario: Scenario, servers: Servers, console: Console, clients: Clients, lanes: int = 1
    ) -> None:
        self._parameters = scenario.parameters
        self._servers = servers
        self._console = console
        self._clients = clients
        self._stopping = threading.Event()
        self._lanes = threading.Semaphore(lanes)
        self._lock = threading.Lock()
        self._witnessing = witness.AVAILABLE
        self.notes: list[str] = []

    def run(self, groups: Iterable[Group], publish: Callable[[list[Cell]], None]) -> None:
        """Run all groups. `publish` gets each group's cells at once; they fill up while it runs."""
        threads = []
        for group in groups:
            for target in group.targets:
                self._servers.port(target.at)  # an unknown name is an error before anything runs
            cells = [self._cell(group, client, target) for target in group.targets for client in group.clients]
            publish(cells)
            self._console.plan(len(cells) * (self._parameters.rounds + 1))
            threads.append(threading.Thread(target=self._run_group, args=(group, cells), daemon=True))
        for thread in threads:
            thread.start()
        wait_for(threads)

    def stop(self) -> None:
        self._stopping.set()

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    def _cell(self, group: Group, client: Client, target: Target) -> Cell:
        language = "raw" if client.kind == "socket" else group.language
        cell = Cell(group.name, language, client.label, client.role, target.name, target.stalls, client.kind)
        cell.required = group.required
        cell.fresh = bool(self._parameters.fresh)
        cell.most_segments = client.segments or target.segments
        return cell

    def _run_group(self, group: Group, cells: list[Cell]) -> None:
        with self._lanes:
            try:
                if not self._stopping.is_set():
                    self._run_turns(group, cells)
            except Exception as error:
                # After Ctrl-C drivers end in the middle of a command. Any other error fails this group alone.
                if not self._stopping.is_set():
                    mark(cells, f"the bench itself: {type(error).__name__}: {error}")

    def _run_turns(self, group: Group, cells: list[Cell]) -> None:
        drivers: list[Driver] = []
        try:
            turns: list[_Turn] = []
            for client in group.clients:
                mine = [cell for cell in cells if cell.client == client.label]
                driver = self._clients.start(group, client, mine)
                if driver is not None:
                    drivers.append(driver)
                    turns += self._open(client, group, driver, mine)
                elif client.role == "adapter":
                    return  # without it the others show nothing
            order = {id(cell): index for index, cell in enumerate(cells)}
            turns.sort(key=lambda turn: order[id(turn.cell)])
            for number in range(self._parameters.rounds + 1):
                for turn in turns[number % len(turns) :] + turns[: number % len(turns)] if turns else []:
                    if self._stopping.is_set():
                        return
                    self._run_turn(turn, number)
                    self._console.step(f"{group.name}: {turn.cell.client} at {turn.cell.target}")
        finally:
            for driver in drivers:
                self._clients.finish(driver)

    def _open(self, client: Client, group: Group, driver: Driver, cells: list[Cell]) -> list[_Turn]:
        options: dict[str, Any] = {"pool_size": 1, **client.options}
        if client.kind == "socket":
            options["adapter"] = client.socket
        if client.api is not None:
            options["api"] = client.api
        options["tls_ca"] = self._servers.certificate_authority
        targets = {target.name: target for target in group.targets}
        turns = []
        for cell in cells:
            target = targets[cell.target]
            own = dict(options)
            if target.proxy or client.proxy == "option":
                own["proxy"] = self._servers.proxy_url
            try:
                client_id = driver.open(**own)
            except DriverSkipped as skip:
                mark([cell], str(skip))
                continue
            except DriverFault as fault:
                mark([cell], first_line(fault))
                continue
            peer = self._servers.port("relay/proxy" if client.proxy or target.proxy else target.at)
            body = client.body or target.body
            if body is None or (client.kind == "socket" and body["kind"] != "bytes"):
                body = {"kind": "bytes", "size": 200}  # a raw socket sends bytes only
            load = {"method": "POST", "url": self._servers.url(target), "body": body, "connections": 1}
            turns.append(_Turn(cell, driver, client_id, peer, load, own))
        return turns

    def _run_turn(self, turn: _Turn, number: int) -> None:
        """One turn. Round 0 warms up."""
        if turn.cell.missing:
            return
        try:
            if self._parameters.fresh:
                self._connect_and_post(turn, number)
                return
            count = self._parameters.requests
            turn.driver.load(turn.client_id, **turn.load, count=min(count, REWARM if number else WARM_UP))
            if number == 0:
                if turn.cell.language != "raw":
                    turn.driver.load(turn.client_id, **turn.load, seconds=WARM_UP_S)
                return
            before = self._read_sockets(turn)
            reply = turn.driver.load(turn.client_id, **turn.load, count=count)
            after = self._read_sockets(turn)
        except DriverSkipped as skip:
            mark([turn.cell], str(skip))
            return
        except DriverFault as fault:
            if not self._stopping.is_set():
                mark([turn.cell], first_line(fault))
            return
        if not reply["latencies_us"] and not reply["errors"]:
            mark([turn.cell], "the driver made no request, without a reason")
            return
        self._record(turn.cell, reply)
        if before is not None and after is not None:
            self._count(turn.cell, before, after, len(reply["latencies_us"]) + reply["errors"])

    def _connect_and_post(self, turn: _Turn, number: int) -> None:
        """One fresh connection. The first request's time has connecting and the handshake in it."""
        warm = WARM_UP if turn.cell.role == "control" else WARM_UP_FRESH
        for _ in range(1 if number or turn.cell.language == "raw" else warm):
            client_id = turn.driver.open(**turn.options)
            reply = turn.driver.load(client_id, **turn.load, count=self._parameters.fresh)
            turn.driver.close(client_id)
        if number:
            self._record(turn.cell, reply)

    def _read_sockets(self, turn: _Turn) -> Readings | None:
        if not self._witnessing:
            return None
        try:
            return {reading.local_port: reading for reading in witness.connections(turn.driver.pid, turn.peer_port)}
        except (witness.WitnessError, ProcessLookupError) as error:
            note = f"Segments and TCP_NODELAY are missing where the kernel refused to read the sockets: {error}."
            with self._lock:
                self.notes += [] if note in self.notes else [note]
            return None

    @staticmethod
    def _record(cell: Cell, reply: dict[str, Any]) -> None:
        cell.rounds_us.append([round(sample) for sample in reply["latencies_us"]])
        cell.errors += reply["errors"]
        # Its first line, without a trace.
        sample = next(iter(str(reply.get("error_sample") or "").splitlines()), None)
        cell.error_sample = cell.error_sample or sample

    @staticmethod
    def _count(cell: Cell, before: Readings, after: Readings, requests: int) -> None:
        """Add the kernel's counts of connections that are still open."""
        sent = 0
        used = []
        for port, reading in after.items():
            old = before.get(port)
            news = reading.data_segs_out - reading.total_retrans
            news -= old.data_segs_out - old.total_retrans if old else 0
            sent += news
            if news:  # other clients of the process may have connections to the same port
                used.append(reading)
        cell.segments.append([sent, requests])
        cell.connections = max(cell.connections, len(used))
        # A connection seen without TCP_NODELAY in any round counts as without it.
        cell.bare_connections = max(cell.bare_connections, sum(not reading.nodelay for reading in used))


def wait_for(threads: Iterable[threading.Thread]) -> None:
    """Return when all threads have ended."""
    for thread in threads:
        # A join without a time limit would keep Ctrl-C waiting on some platforms.
        while thread.is_alive():
            thread.join(0.2)
