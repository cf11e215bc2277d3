"""Plays random scenarios with an adapter and with its stock library, and keeps those that differ as case files."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, settings
from hypothesis import seed as seeded

from onewrite_conformance.checks.same import Shown, differences, given_up, shown
from onewrite_conformance.contract.cases import Case, Run
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_conformance.fuzz.scenarios import scenarios
from onewrite_conformance.report.files import write_junit
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.plan import Share
from onewrite_conformance.run.play import play
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.same import api_of

__all__ = ["Fuzzer", "Part", "hunt", "results_of", "shares_of"]

FACETS = ["bytes", "outcome", "connections", "objects"]
SLOWER = 4  # a replay takes its time: all pauses, delays and limits of a scenario are longer by this factor
REPLAYS = 3  # of the adapter: each must differ from all of stock
STOCK_MORE = 5  # further replays of stock
SHRINK_S = 15.0  # for one difference
MOST = 3  # differences of a part, then it ends
LEAST, EACH = 75, 1000  # scenarios of a share, at least and at most
SECONDS = 0.4  # a guess of what a scenario takes


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
    fault: str = ""


class Fuzzer:
    """One client kind of a judge's adapter beside its stock client; the judge's two drivers serve all scenarios."""

    def __init__(self, judge: Judge, client: str) -> None:
        self._judge, self.client = judge, client
        both = self._driver(client).capabilities & self._driver("stock").capabilities
        self.kinds = tuple(sorted(name.partition(":")[2] for name in both if name.startswith("body:")))

    def _driver(self, client: str) -> Driver:
        return self._judge.driver(client, {})

    def difference(self, raw: dict[str, Any]) -> str:
        """The differences in this scenario, in words; "" without any. Raises DriverSkipped.

        One play each is enough where they show the same. Else slow replays decide.
        """
        if not self._compare([self._shown(raw, self.client)], [self._shown(raw, "stock")]):
            return ""
        slow = _slower(raw)
        ours: list[Shown] = []
        theirs: list[Shown] = []
        for number in range(REPLAYS + STOCK_MORE):
            if number < REPLAYS:
                ours.append(self._shown(slow, self.client))
            theirs.append(self._shown(slow, "stock"))
            if any(not self._compare([one], theirs) for one in ours):
                return ""
        return "\n".join(self._compare(ours, theirs))

    def _compare(self, ours: list[Shown], theirs: list[Shown]) -> list[str]:
        return differences(ours, theirs, FACETS, self.client)

    def _shown(self, raw: dict[str, Any], client: str) -> Shown:
        """The facets of one play as far as SAME-7 lets them be the same: to the first call that was given up, and
        without connections where there is one."""
        case = Case("SAME-1", "random", "A random scenario", raw["do"], same=FACETS, **_rest(raw))
        run = Run(case, client, case.schemes[0], "direct")
        driver = self._driver(client)
        api = api_of(self._driver(self.client), driver) if client == "stock" else None
        try:
            seen = play(run, driver, api=api)
        except DriverFault as fault:
            return {name: [f"driver fault: {fault.kind}: {fault.detail[:300]}"] for name in FACETS} | {"broken": [0]}
        found = shown(seen, boundary=True)
        until = next((at for at, sample in enumerate(seen.samples) if given_up(sample)), None)
        if until is not None:
            found |= {name: found[name][: until + 1] for name in ("outcome", "objects")}
            found |= {"bytes": found["bytes"][:until], "connections": [], "broken": [0]}
        return found


def _rest(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: raw[name] for name in ("open", "server", "schemes")}


def _slower(part: Any) -> Any:
    """The scenario with longer pauses and limits, which a busy machine keeps, too."""
    if isinstance(part, dict):
        return {
            name: value * SLOWER if name.endswith("_ms") and isinstance(value, int) else _slower(value)
            for name, value in part.items()
        }
    return [_slower(one) for one in part] if isinstance(part, list) else part


def hunt(fuzzer: Fuzzer, count: int, seed: int, part: Part) -> None:
    """Play up to `count` scenarios; the first that differs is shrunk and kept."""
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
    @given(scenarios(fuzzer.kinds))
    def same(raw: dict[str, Any]) -> None:
        key = json.dumps(raw)
        if key not in differs:
            if began and time.monotonic() > began[0] + SHRINK_S:
                return
            try:
                text = fuzzer.difference(raw)
            except DriverSkipped:
                part.skipped += not began
                reject()
            part.ran += not began
            if not text:
                return
            began.append(time.monotonic())
            differs[key] = text
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
    counts = f"{part.ran} scenarios, {part.skipped} skipped, {len(part.cases)} differ at first"
    print(f"fuzz {part.adapter} {client}: {counts}, {part.seconds:.0f} s", flush=True)
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
    """The results by adapter and client. What differs is played again, when nothing else runs; if it still differs, it
    is written to `folder` as a case."""
    results: list[Result] = []
    for name in dict.fromkeys(part.adapter for part in parts):
        mine = [part for part in parts if part.adapter == name]
        kinds = dict.fromkeys(part.client for part in mine)
        with judges[name] as judge:
            done = [_result(judge, client, [one for one in mine if one.client == client], folder) for client in kinds]
        write_junit(done, folder / f"judge-fuzz-{name}.xml", f"judge-fuzz-{name}")
        results += done
    return results


def _settled(judge: Judge, parts: list[Part]) -> list[tuple[dict[str, Any], str]]:
    """The scenarios that still differ, alone and in fresh drivers."""
    stay = []
    for part in parts:
        for case in part.cases:
            judge.close()
            text = Fuzzer(judge, part.client).difference(case)
            if text:
                stay.append((case, text))
    return stay


def _result(judge: Judge, client: str, parts: list[Part], folder: Path) -> Result:
    name = judge.adapter.name
    faults = [part.fault for part in parts if part.fault]
    ran, skipped = sum(part.ran for part in parts), sum(part.skipped for part in parts)
    differ = _settled(judge, parts)
    status = Status.FAULT if faults else Status.DEVIATES if differ else Status.OK
    if not faults and skipped * 2 > ran:
        status, faults = Status.DEVIATES, [f"{skipped} scenarios could not be played, beside {ran}: nothing is proved"]
    result = Result(name, f"same/fuzz/{client}", "same/fuzz", client, "", "", "SAME-1", "MUST", status)
    result.title = f"{ran} random scenarios come out as with stock"
    result.notes = [f"{skipped} were skipped"] if skipped else []
    result.seconds = round(sum(part.seconds for part in parts), 3)
    result.problems = [*faults, *(text for _, text in differ)]
    for number, (case, text) in enumerate(differ):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"fuzz-{name}-{client.replace(':', '-')}-{number}.yaml"
        one = {"of": "SAME-1", "name": f"random-{number}", "title": "A random scenario", "even": ["boundary"], **case}
        whole = {"version": 1, "family": "SAME", "cases": [one | {"same": FACETS}]}
        file.write_text(f"# {text}".replace("\n", "\n# ") + "\n" + yaml.safe_dump(whole, sort_keys=False, width=120))
        result.notes.append(f"kept as {file}")
    return result


def _whole(adapter: Adapter, client: str) -> bool:
    second = adapter.second.get(client)
    return second is None or not second.families or "SAME" in second.families
