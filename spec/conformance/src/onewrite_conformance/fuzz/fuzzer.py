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
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.plan import Share
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.same import Compared, Comparison, compare, first_of

__all__ = ["Fuzzer", "Part", "hunt", "results_of", "shares_of"]

FACETS = ["bytes", "outcome", "connections", "objects", "no_more_segments"]
SLOWER = 4  # a replay takes its time: all pauses, delays and limits of a scenario are longer by this factor
SHRINK_S = 60.0  # for one difference, at most
MOST = 3  # differences of a part, then it ends
LEAST, EACH = 50, 1000  # scenarios of a share, at least and at most
SECONDS = 0.6  # a guess of what a scenario takes


class Differs(AssertionError):
    """This scenario comes out another way."""


@dataclass
class Part:
    """The outcome of a part of the scenarios of one client kind."""

    adapter: str
    client: str
    ran: int = 0
    skipped: int = 0  # beside `ran`: the driver cannot do what the scenario wants
    seconds: float = 0.0
    cases: list[dict[str, Any]] = field(default_factory=list)  # that differ, shrunk
    texts: list[str] = field(default_factory=list)
    wavered: list[tuple[dict[str, Any], str]] = field(default_factory=list)  # that differed in some plays alone
    fault: str = ""


class Fuzzer:
    """One client kind of a judge's adapter beside its stock client; the judge's two drivers serve all scenarios."""

    def __init__(self, judge: Judge, client: str) -> None:
        self._judge, self.client = judge, client
        both = self._driver(client)().capabilities & self._driver("stock")().capabilities
        self.can = frozenset(both)
        self.facets = [*FACETS, *([] if client in judge.adapter.own_messages else ["message"])]

    def _driver(self, client: str) -> Any:
        return partial(self._judge.driver, client, {})

    def compared(self, raw: dict[str, Any]) -> Compared:
        """The differences in this scenario. Raises DriverSkipped.

        One play by stock, and one by the adapter without and with hooks, is enough where they show the same. Else slow
        plays decide, which a busy machine keeps, too.
        """
        first = self._comparison(raw)
        try:
            first.play(first.ways)
            found = first.compared(times=2)
        except DriverFault as fault:
            found = Compared([f"driver fault: {fault.kind}: {fault.detail[:300]}"])
        if not (found.problems or found.wavered):
            return found
        slow = self.slowly(raw)
        if not slow.problems and not slow.wavered:
            slow.wavered = f"not in slower plays: {found.wavered or first_of(found.problems)}"
        return slow

    def slowly(self, raw: dict[str, Any]) -> Compared:
        """The same with longer pauses and limits, and with more plays."""
        run = self.run(_slower(raw))
        try:
            return compare(run, self._driver(self.client), self._driver("stock"), self.facets, plays=1)
        except DriverFault as fault:
            return Compared([f"driver fault: {fault.kind}: {fault.detail[:300]}"])

    def run(self, raw: dict[str, Any]) -> Run:
        """The scenario as a run of a case."""
        rest = {name: raw[name] for name in ("open", "server", "schemes", "routes")}
        even = ["boundary", "given_up"]
        case = Case("SAME-1", "random", "A random scenario", raw["do"], same=FACETS, even=even, **rest)
        return Run(case, self.client, case.schemes[0], case.routes[0])

    def _comparison(self, raw: dict[str, Any]) -> Comparison:
        return Comparison(self.run(raw), self._driver(self.client), self._driver("stock"), self.facets)


def _slower(part: Any) -> Any:
    """The scenario with longer pauses and limits, which a busy machine keeps, too."""
    if isinstance(part, dict):
        return {
            name: value * SLOWER if name.endswith("_ms") and isinstance(value, int) else _slower(value)
            for name, value in part.items()
        }
    return [_slower(one) for one in part] if isinstance(part, list) else part


def hunt(fuzzer: Fuzzer, count: int, seed: int, part: Part) -> None:
    """Play up to `count` scenarios; the first that differs again is shrunk and kept."""
    differs: dict[str, str] = {}  # hypothesis plays the last one again
    began: list[float] = []

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
            except DriverSkipped:
                part.skipped += not began
                reject()
            part.ran += not began
            if found.wavered and not began:
                part.wavered.append((raw, found.wavered))
            if not found.problems:
                return
            began.append(time.monotonic())
            differs[key] = "\n".join(found.problems)
        last[:] = [raw, differs[key]]
        raise Differs(differs[key])

    last: list[Any] = []
    try:
        same()
    except Differs:
        part.cases.append(last[0])
        part.texts.append(last[1])


def play_part(client: str, count: int, seed: int, judge: Judge) -> Part:
    """Play a part of an adapter's scenarios with the drivers of this judge."""
    started = time.monotonic()
    part = Part(judge.adapter.name, client)
    try:
        fuzzer = Fuzzer(judge, client)
        turn = 0
        while part.ran < count and part.skipped <= count and len(part.cases) < MOST:
            hunt(fuzzer, count - part.ran, seed * 1000 + turn, part)
            turn += 1
    except (DriverFault, DriverSkipped) as fault:
        part.fault = str(fault)
    part.seconds = time.monotonic() - started
    differ = f"{len(part.cases)} differ, {len(part.wavered)} in some plays alone"
    print(
        f"fuzz {part.adapter} {client}: {part.ran} scenarios, {part.skipped} skipped, {differ}, {part.seconds:.0f} s",
        flush=True,
    )
    return part


def shares_of(
    judges: Iterable[Judge], clients: list[str] | None, count: int, seed: int, jobs: int, *, draw: bool = False
) -> list[Share]:
    """`count` scenarios of each adapter, shared among its clients or, with `draw`, for one that the seed draws."""
    shares = []
    for judge in judges:
        adapter = judge.adapter
        kinds = [one for one in judge.own if one in (clients or judge.own) and _whole(adapter, one)]
        if draw:
            kinds = random.Random(f"{seed}/{adapter.name}").sample(kinds, min(1, len(kinds)))
        each = -(-count // len(kinds)) if kinds else 0
        size = min(max(LEAST, -(-each // jobs)), EACH)
        for number, kind in enumerate(kinds):
            for first in range(0, each, size):
                many, its_seed = min(size, each - first), seed * 1000 + number * 100 + first // size
                task = partial(play_part, kind, many, its_seed)
                shares.append(Share(adapter.name, kind, seconds=many * SECONDS, task=task))
    return shares


def results_of(judges: dict[str, Judge], parts: list[Part], folder: Path) -> list[Result]:
    """The results by adapter and client. What differs is played again in fresh drivers, when nothing else runs. Each
    script that differed, once or always, is kept in `folder`."""
    results: list[Result] = []
    for name in dict.fromkeys(part.adapter for part in parts):
        mine = [part for part in parts if part.adapter == name]
        kinds = dict.fromkeys(part.client for part in mine)
        with judges[name] as judge:
            done = [_result(judge, client, [one for one in mine if one.client == client], folder) for client in kinds]
        write_junit(done, folder / f"judge-fuzz-{name}.xml", f"judge-fuzz-{name}")
        results += done
    return results


def _result(judge: Judge, client: str, parts: list[Part], folder: Path) -> Result:
    name = judge.adapter.name
    faults = [part.fault for part in parts if part.fault]
    ran, skipped = sum(part.ran for part in parts), sum(part.skipped for part in parts)
    wavered = [one for part in parts for one in part.wavered]
    differ = []
    for part in parts:
        for raw, text in zip(part.cases, part.texts, strict=True):
            judge.close()
            again = "\n".join(Fuzzer(judge, client).slowly(raw).problems)
            if again:
                differ.append((raw, again))
            else:
                wavered.append((raw, f"not in fresh drivers: {text}"))
    status = Status.FAULT if faults else Status.DEVIATES if differ else Status.OK
    if not faults and skipped * 2 > ran:
        status, faults = Status.DEVIATES, [f"{skipped} scenarios could not be played, beside {ran}: nothing is proved"]
    result = Result(name, f"same/fuzz/{client}", "same/fuzz", client, "", "", "SAME-1", "MUST", status)
    result.title = f"{ran} random scenarios come out as with stock"
    result.notes = [f"{skipped} were skipped"] if skipped else []
    result.seconds = round(sum(part.seconds for part in parts), 3)
    result.problems = [*faults, *(text for _, text in differ)]
    if differ or wavered:
        fuzzer = Fuzzer(judge, client)
        for number, (raw, text) in enumerate([*differ, *wavered]):
            run = fuzzer.run(raw)
            run.case.name = f"random-{number}"
            result.notes.append(f"kept as {keep(folder, name, run, text)}")
    if wavered:
        most = "\n".join(text for _, text in wavered[:3])
        result.wavered = f"{len(wavered)} of {ran} scenarios differed in some plays alone: {most}"
    return result


def _whole(adapter: Adapter, client: str) -> bool:
    second = adapter.second.get(client)
    return second is None or not second.families or "SAME" in second.families
