"""The engine of `observe` scenarios: waits that are not the client's, and what the adapters' timing says of them.

Each driver makes a few requests with its timing hook on. The table sets the first byte and the whole beside the
cause that the adapter names. For event streams the driver hands over when each piece of the body reached its caller
(capability `chunk_times`); every event carries when it was sent, on the same clock. A raw reader stands beside them.
"""

from __future__ import annotations

import base64
import http.client
import threading
import time
from pathlib import Path
from typing import Any

from onewrite_conformance.driver import DriverFault, DriverSkipped

from onewrite_bench.console import Console
from onewrite_bench.engines.clients import Clients, first_line
from onewrite_bench.engines.threads import wait_for
from onewrite_bench.scenario import Client, Group, Scenario, Target
from onewrite_bench.topology.children import Children
from onewrite_bench.topology.places import Places
from onewrite_bench.units import milliseconds
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Cell, Run, Verdict

__all__ = ["event_lags", "observe", "read_stream"]

LATE_MS = 100
"""A first byte or an answer later than this shows the proxy's 200 ms; without it they take a few milliseconds."""


def observe(scenario: Scenario, children: Children, directory: Path, console: Console, run: Run) -> None:
    places = Places(children, scenario.topology, directory)
    clients = Clients(places)
    try:
        _Observation(scenario, places, console, clients, run).run()
    finally:
        clients.stop()


class _Observation:
    def __init__(self, scenario: Scenario, places: Places, console: Console, clients: Clients, run: Run) -> None:
        self._scenario = scenario
        self._places = places
        self._console = console
        self._clients = clients
        self._run = run
        self._rows: dict[tuple[int, int, int], list[str]] = {}
        self._whole_ms: dict[str, list[float]] = {}
        self._events = int(scenario.parameters.get("events", 0))
        self._lock = threading.Lock()

    def run(self) -> None:
        parameters = self._scenario.parameters
        groups = self._scenario.groups
        self._console.plan(sum(len(group.clients) * len(group.targets) for group in groups))
        threads = [
            threading.Thread(target=self._group, args=(index, group), daemon=True) for index, group in enumerate(groups)
        ]
        for thread in threads:
            thread.start()
        try:
            wait_for(threads)
            if "events" in parameters:
                self._add_stream_table()
        finally:
            self._add_table()
        self._add_verdict()

    def _group(self, index: int, group: Group) -> None:
        for number, client in enumerate(group.clients):
            cells = [
                Cell(group.name, group.language, client.label, client.role, t.name, t.stalls) for t in group.targets
            ]
            driver = self._clients.start(group, client, cells)
            if driver is None:
                with self._lock:
                    why = cells[0].failed or cells[0].skipped or ""
                    self._rows[index, number, 0] = [
                        group.language,
                        client.label,
                        *["-"] * self._dashes,
                        f"not run: {why}",
                    ]
                continue
            try:
                for place, target in enumerate(group.targets):
                    row = self._measure(driver, group, client, target)
                    with self._lock:
                        self._rows[index, number, place] = row
                    self._console.step(f"{group.name}: {client.label} at {target.name}")
            finally:
                self._clients.finish(driver)

    @property
    def _dashes(self) -> int:
        """Columns between client and cause."""
        return 5 if self._events else 3

    def _measure(self, driver: Any, group: Group, client: Client, target: Target) -> list[str]:
        parameters = self._scenario.parameters
        head = [group.language, client.label, target.name]
        hooks = "timing" if "timing" in driver.capabilities else "none"
        fields: dict[str, Any] = {
            "body": {"kind": "bytes", "size": 200} if parameters["method"] == "POST" else {"kind": "none"}
        }
        pieces = bool(self._events) and "chunk_times" in driver.capabilities
        if pieces:
            fields["chunk_times"] = True
        waits, totals, causes = [], [], []
        lags: list[float] = []
        counts: list[int] = []
        try:
            client_id = driver.open(pool_size=1, hooks=hooks)
            for number in range(parameters["warmup"] + parameters["requests"]):
                reply = driver.request(client_id, parameters["method"], self._places.url(target), **fields)
                if reply["outcome"] != "response":
                    why = f"not run: {(reply.get('error') or {}).get('message')}"
                    return [*head, *["-"] * (self._dashes - 1), why]
                if number < parameters["warmup"]:
                    continue
                totals.append(reply["elapsed_us"])
                timing = _last_attempt(reply.get("timing"))
                if timing.get("wait_ns") is not None:
                    waits.append(timing["wait_ns"] / 1000)
                if timing.get("cause"):
                    causes.append(timing["cause"])
                if pieces:
                    lags += event_lags(reply["chunk_times"])
                    counts.append(len(reply["chunk_times"]))
        except DriverSkipped as skip:
            return [*head, *["-"] * (self._dashes - 1), f"not run: {skip}"]
        except DriverFault as fault:
            return [*head, *["-"] * (self._dashes - 1), f"not run: {first_line(fault)}"]
        with self._lock:
            self._whole_ms.setdefault(target.name, []).append(stats.percentile(totals, 50) / 1000)
        named = max(set(causes), key=causes.count) if len(causes) * 2 > len(totals) else "-"
        wait = milliseconds(stats.percentile(waits, 50)) if waits else "-"
        if not self._events:
            return [*head, wait, milliseconds(stats.percentile(totals, 50)), named]
        late = [milliseconds(stats.percentile(lags, level)) if lags else "-" for level in (50, 90)]
        return [*head, wait, *late, f"{stats.percentile(counts, 50):g}" if counts else "-", named]

    def _add_table(self) -> None:
        advice = self._scenario.parameters["advice"]
        note = (
            "Medians. First byte: the adapter's own wait phase, from the request's last write to the answer's first "
            f"byte. What is long here is not the client's wait: {advice} in HAProxy ends it."
        )
        if self._events:
            headings = ["event lag p50 ms", "event lag p90 ms", "pieces"]
            note += (
                " Event lag: from the time that the origin wrote into the event to the moment the client's own "
                "streaming API handed over the piece that completes it, over all events. The hooks have no event per "
                "piece: the driver stamps each as it gets it, on the hooks' clock. Pieces: how many of them "
                f"{self._events} events took."
            )
        else:
            headings = ["whole ms"]
        headings = ["language", "client", "frontend", "first byte ms", *headings, "cause named by the adapter"]
        rows = [row for _, row in sorted(self._rows.items())]
        self._section("As the clients see it", headings, rows, note)

    def _add_stream_table(self) -> None:
        rows = []
        for target in self._scenario.targets:
            first, lags, reads = read_stream(self._places.port(target.at), target.path)
            rows.append(
                [
                    target.name,
                    milliseconds(first),
                    milliseconds(stats.percentile(lags, 50)),
                    milliseconds(stats.percentile(lags, 90)),
                    str(reads),
                ]
            )
            self._whole_ms.setdefault(f"first byte, {target.name}", []).append(first / 1000)
        headings = ["frontend", "first byte ms", "event lag p50 ms", "event lag p90 ms", "reads"]
        parameters = self._scenario.parameters
        note = (
            f"For comparison: {parameters['events']} events, one every {parameters['gap_ms']} ms; "
            "lag from sent to read."
        )
        self._section("A raw reader", headings, rows, note)

    def _section(self, title: str, headings: list[str], rows: list[list[str]], note: str) -> None:
        self._run.sections.append({"title": title, "headings": headings, "rows": rows, "notes": [note]})

    def _add_verdict(self) -> None:
        prefix = "first byte, " if "events" in self._scenario.parameters else ""
        seen = {target.name: self._whole_ms.get(prefix + target.name) for target in self._scenario.targets}
        late = [name for name, values in seen.items() if values and stats.percentile(values, 50) > LATE_MS]
        advice = self._scenario.parameters["advice"]
        if late:
            text = f"late at frontend {', '.join(late)} whatever the client does: not the client's; {advice} ends it"
        else:
            text = "this HAProxy holds nothing back"
        self._run.verdicts.append(Verdict(self._scenario.name, "shown", text, counts=False))


def _last_attempt(timing: dict[str, Any] | None) -> dict[str, Any]:
    attempts = (timing or {}).get("attempts") or []
    return attempts[-1] if attempts else (timing or {})


def event_lags(pieces: list[tuple[int, str]]) -> list[float]:
    """Microseconds that each event of a stream was late, from pieces of [monotonic ns, base64 of the bytes]."""
    lags: list[float] = []
    buffer = b""
    for arrived_ns, encoded in pieces:
        buffer += base64.b64decode(encoded)
        *events, buffer = buffer.split(b"\n\n")
        lags += [(arrived_ns - int(event.removeprefix(b"data: "))) / 1000 for event in events]
    return lags


def read_stream(port: int, path: str) -> tuple[float, list[float], int]:
    """Read one event stream: microseconds to the first body byte, the lag of each event, how many reads it took."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        began = time.monotonic_ns()
        connection.request("GET", path)
        response = connection.getresponse()
        first: float | None = None
        lags: list[float] = []
        reads = 0
        buffer = b""
        while piece := response.read1(65536):
            now = time.monotonic_ns()
            if first is None:
                first = (now - began) / 1000
            reads += 1
            buffer += piece
            *events, buffer = buffer.split(b"\n\n")
            lags += [(now - int(event.removeprefix(b"data: "))) / 1000 for event in events]
        return first or 0.0, lags, reads
    finally:
        connection.close()
