"""Plays random scenarios with an adapter and with its stock library, and keeps those that differ as scripts."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, reject, settings
from hypothesis import seed as seeded

from onewrite_conformance.contract.cases import Case, Run
from onewrite_conformance.driver import DriverFault, DriverSkipped
from onewrite_conformance.fuzz.scenarios import scenarios
from onewrite_conformance.report.files import write_junit
from onewrite_conformance.report.scripts import keep
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.parallel import Share
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.same import compare

__all__ = ["Fuzzer", "Part", "hunt", "results_of", "shares_of"]

FACETS = ["bytes", "outcome", "connections", "no_more_segments"]
SLOWER = 4  # what differs is played again with all pauses, delays and limits longer by this factor
SHRINK_S = 60.0  # for one difference, at most
MOST = 3  # differences of a part, then it ends
LEAST, EACH = 50, 1000  # scenarios of a share, at least and at most


class Differs(AssertionError):
    """This scenario has another result than with stock."""


@dataclass
class Part:
    """The outcome of a part of the scenarios of one client."""

    adapter: str
    client: str
    ran: int = 0
    skipped: int = 0  # beside `ran`: the driver cannot do what the scenario wants
    once: int = 0  # differed, and did not when played again
    seconds: float = 0.0
    differ: list[tuple[dict[str, Any], str]] = field(default_factory=list)  # shrunk scenarios, and how they differ
    fault: str = ""


class Fuzzer:
    """One client of a judge's adapter beside its stock client; the judge's two drivers serve all scenarios."""

    def __init__(self, judge: Judge, client: str) -> None:
        self.client = client
        self._ours, self._stock = (partial(judge.driver, one, {}) for one in (client, "stock"))
        ours, stock = self._ours().capabilities, self._stock().capabilities
        # The stock clients of some drivers do not claim `informational`, though they have it where the adapter has.
        self.can = frozenset(ours & (stock | {"informational"}))
        self.facets = [*FACETS, *([] if client in judge.adapter.own_messages else ["message"])]

    def compared(self, raw: dict[str, Any]) -> list[str]:
        """The differences in this scenario. Raises DriverSkipped."""
        try:
            return compare(self.run(raw), self._ours, self._stock, self.facets)
        except DriverFault as fault:
            return [f"driver fault: {fault.kind}: {fault.detail[:300]}"]

    def run(self, raw: dict[str, Any]) -> Run:
        """The scenario as a run of a case."""
        rest = {name: raw[name] for name in ("open", "server", "schemes", "routes")}
        ignore = ["boundary", "given_up"]
        case = Case("SAME-1", "random", "A random scenario", raw["do"], same=FACETS, ignore=ignore, **rest)
        return Run(case, self.client, case.schemes[0], case.routes[0])


def slower(part: Any) -> Any:
    """The scenario with longer pauses and limits, which a busy machine keeps, too."""
    if isinstance(part, dict):
        return {
            name: value * SLOWER if name.endswith("_ms") and isinstance(value, int) else slower(value)
            for name, value in part.items()
        }
    return [slower(one) for one in part] if isinstance(part, list) else part


def hunt(fuzzer: Fuzzer, count: int, seed: int, part: Part) -> None:
    """Play up to `count` scenarios; the first that differs twice is shrunk and kept."""
    differs: dict[str, str] = {}  # hypothesis plays the last one again
    began: list[float] = []
    last: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @given(scenarios(fuzzer.can))
    def same(raw: dict[str, Any]) -> None:
        key = json.dumps(raw)
        if key not in differs:
            if began and time.monotonic() > began[0] + SHRINK_S:
                return
            try:
                found = fuzzer.compared(raw)
                again = fuzzer.compared(slower(raw)) if found else []
            except DriverSkipped:
                part.skipped += not began
                reject()
            part.ran += not began
            part.once += bool(found) and not again and not began
            if not again:
                return
            began.append(time.monotonic())
            differs[key] = "\n".join(again)
        last[:] = [raw, differs[key]]
        raise Differs(differs[key])

    try:
        same()
    except Differs:
        part.differ.append((last[0], last[1]))


def play_part(client: str, count: int, seed: int, judge: Judge) -> Part:
    """Play a part of an adapter's scenarios with the drivers of this judge."""
    started = time.monotonic()
    part = Part(judge.adapter.name, client)
    try:
        fuzzer = Fuzzer(judge, client)
        turn = 0
        while part.ran < count and part.skipped <= count and len(part.differ) < MOST:
            hunt(fuzzer, count - part.ran, seed * 1000 + turn, part)
            turn += 1
    except (DriverFault, DriverSkipped) as fault:
        part.fault = str(fault)
    part.seconds = time.monotonic() - started
    counts = f"{part.ran} scenarios, {part.skipped} skipped, {len(part.differ)} differ, {part.once} differed once"
    print(f"fuzz {part.adapter} {client}: {counts}, {part.seconds:.0f} s", flush=True)
    return part


def shares_of(judge: Judge, clients: list[str] | None, count: int, seed: int, jobs: int, *, one: bool) -> list[Share]:
    """`count` scenarios of an adapter, divided among its clients or, with `one`, for a client that the seed chooses."""
    kinds = [kind for kind in judge.own if kind in (clients or judge.own) and judge.adapter.compares(kind)]
    if one:
        kinds = random.Random(f"{seed}/{judge.adapter.name}").sample(kinds, min(1, len(kinds)))
    each = -(-count // len(kinds)) if kinds else 0
    size = min(max(LEAST, -(-each // jobs)), EACH)
    return [
        Share(
            judge.adapter.name,
            task=partial(play_part, kind, min(size, each - first), seed * 1000 + number * 100 + first // size),
        )
        for number, kind in enumerate(kinds)
        for first in range(0, each, size)
    ]


def results_of(parts: Iterable[Part], judges: dict[str, Judge], folder: Path) -> list[Result]:
    """A result for each client. Each scenario that differs is kept in `folder` as a script."""
    clients: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        clients.setdefault((part.adapter, part.client), []).append(part)
    results = [_result(judges[name], client, found, folder) for (name, client), found in clients.items()]
    for name in dict.fromkeys(result.adapter for result in results):
        done = [result for result in results if result.adapter == name]
        write_junit(done, folder / f"judge-fuzz-{name}.xml", f"judge-fuzz-{name}")
    return results


def _result(judge: Judge, client: str, parts: list[Part], folder: Path) -> Result:
    faults = [part.fault for part in parts if part.fault]
    differ = [one for part in parts for one in part.differ]
    ran, skipped, once = (sum(getattr(part, name) for part in parts) for name in ("ran", "skipped", "once"))
    status = Status.FAULT if faults else Status.DEVIATES if differ else Status.OK
    if not faults and skipped * 2 > ran:
        status, faults = Status.DEVIATES, [f"{skipped} scenarios could not be played, beside {ran}: nothing is proved"]
    name = judge.adapter.name
    result = Result(name, f"same/fuzz/{client}", "same/fuzz", client, "", "", "SAME-1", status)
    result.title = f"{ran} random scenarios come out as with stock"
    result.notes = [f"{skipped} were skipped, {once} differed once"] if skipped or once else []
    result.seconds = round(sum(part.seconds for part in parts), 3)
    result.problems = [*faults, *(text for _, text in differ)]
    for number, (raw, text) in enumerate(differ):
        with judge:
            run = Fuzzer(judge, client).run(raw)
        run.case.name = f"random-{number}"
        result.notes.append(f"kept as {keep(folder, name, run, text)}")
    return result
