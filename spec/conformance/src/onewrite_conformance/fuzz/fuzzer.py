"""The differential fuzzer: random scenarios must have the same results with an adapter and with its stock library.

`python -m onewrite_conformance.fuzz --adapter node --count 300 --seed 1`

A scenario is a randomly made case: up to four requests of all body kinds, with sizes around the limits, and a server
that answers in many ways. Compared are outcome, status, body and error class; the requests that arrived, parsed; and
the segments, of which an adapter may not need more than stock. A scenario with a difference is run again when nothing
else runs; one that differs in most tries is shrunk to the smallest that still differs, and written as a case file.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.stock import even
from onewrite_conformance.contract.bodies import content
from onewrite_conformance.contract.cases import Case, Run
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_conformance.fuzz.scenarios import scenario, smaller
from onewrite_conformance.report.files import write_junit
from onewrite_conformance.run.adapters import Adapter, adapters_of_checkout, reference
from onewrite_conformance.run.play import play
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.settle import TIMES, comes_again
from onewrite_conformance.run.shares import end_with_parent

__all__ = ["KINDS", "Fuzzer", "difference", "fuzz"]

KINDS = ("onewrite", "patched")
TIMES_CUT = 2  # a cut scenario must differ in one of so many tries
MOST = 5  # findings of one client kind that are shrunk and reported
SHARES = 8  # of the scenarios of one client kind
LEAST = 150  # scenarios in a share: each starts two drivers
ONE_WRITE = 16384


# -- comparing ---------------------------------------------------------------------------------------------


def difference(ours: Observation, stock: Observation) -> str | None:
    """What differs between the two, in one line, or None."""
    for index, (one, other) in enumerate(zip(ours.samples, stock.samples, strict=True)):
        ours_said, stock_said = _outcome(one, ours), _outcome(other, ours)
        if ours_said != stock_said:
            return f"request {index}: {ours_said} against {stock_said}"
    if "own_client" in ours.capabilities:
        return _faults(ours)
    if len(ours.exchanges) != len(stock.exchanges):
        return f"{len(ours.exchanges)} requests arrived, {len(stock.exchanges)} of stock"
    nagle = any(arrival.nodelay is False for arrival in stock.arrivals)
    for mine, theirs in zip(ours.exchanges, stock.exchanges, strict=True):
        if mine.complete != theirs.complete:
            return f"request {mine.number} arrived {'whole' if mine.complete else 'in part'}, stock's did not so"
        parsed, parsed_stock = _parsed(mine), _parsed(theirs)
        for name in parsed:
            if mine.complete and parsed[name] != parsed_stock[name]:
                said, said_stock = str(parsed[name])[:150], str(parsed_stock[name])[:150]
                return f"request {mine.number}: {name} is {said}, stock's {said_stock}"
        more = (mine.segments_once or 0) - (theirs.segments_once or 0)
        # Larger requests are cut by the kernel in varying ways. And where stock leaves Nagle's algorithm on, tails of
        # several writes are joined: fewer segments, but later. Such a count is no limit.
        small = not nagle and len(mine.request.wire) <= ONE_WRITE
        excuse = ours.loss.total if ours.witness_fault else 0
        if small and mine.complete and mine.segments and theirs.segments and more > excuse:
            return f"request {mine.number}: {mine.segments} segments, stock needs {theirs.segments}"
    return _faults(ours)


def _outcome(sample: Sample, ours: Observation) -> dict[str, Any]:
    reply = sample.reply
    said = {name: reply.get(name) for name in ("outcome", "status", "body_sha256")}
    if reply["outcome"] == "error" and "own_client" not in ours.capabilities:
        said["error"] = reply["error"].get("type")
    return said


def _parsed(exchange: Exchange) -> dict[str, Any]:
    """What a request means: everything but the order of headers and how a chunked body was cut."""
    request = exchange.request
    head = even(exchange).split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
    body = bytes(request.body)
    for value in request.values("content-type"):
        if "boundary=" in value:
            body = body.replace(value.partition("boundary=")[2].strip('"').encode(), b"BOUNDARY")
            # The length of a boundary may vary, too.
            head = [line for line in head if not line.lower().startswith("content-length:")]
    headers = sorted(line.partition(":")[0].lower() + ":" + line.partition(":")[2] for line in head[1:])
    return {"request line": head[0], "headers": headers, "framing": request.framing, "body": body}


def _faults(ours: Observation) -> str | None:
    for exchange in ours.exchanges:
        if exchange.request.problems:
            return f"request {exchange.number} is not HTTP/1.1: {exchange.request.problems[0]}"
    for sample in ours.samples:
        body = sample.request.get("body") or {"kind": "none"}
        known = body["kind"] not in ("form", "multipart") and len(sample.exchanges) == 1
        if known and sample.exchanges[0].complete and bytes(sample.exchanges[0].request.body) != content(body):
            return f"the body of {sample.request['url']} did not arrive as it was given"
    return None


# -- running -----------------------------------------------------------------------------------------------


@dataclass
class Finding:
    """A difference that stayed."""

    seed: str
    text: str
    case: Case


@dataclass
class ShareResult:
    """The result of one share of scenarios."""

    client: str
    ran: int = 0
    seconds: float = 0.0
    different: list[str] = field(default_factory=list)  # seeds of scenarios that differed when they were run once
    skipped: str | None = None
    fault: str | None = None


class Fuzzer:
    """Runs scenarios with one client kind of an adapter and with its stock client."""

    def __init__(self, adapter: Adapter, client: str, *, stock: Adapter | None = None, timeout_s: float = 30.0) -> None:
        self.client, self.timeout_s = client, timeout_s
        self._adapters = {client: adapter, "stock": stock or adapter}
        self._drivers: dict[str, Driver] = {}

    def driver(self, client: str) -> Driver:
        held = self._drivers.get(client)
        if held is None or not held.alive:
            adapter = self._adapters[client]
            held = Driver(adapter.command, client, env=adapter.env, timeout_s=self.timeout_s)
            self._drivers[client] = held
        return held

    def close(self) -> None:
        for held in self._drivers.values():
            held.bye()
        self._drivers.clear()

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def kinds(self) -> list[str]:
        """Body kinds that both can send."""
        both = self.driver(self.client).capabilities & self.driver("stock").capabilities
        return sorted(name.partition(":")[2] for name in both if name.startswith("body:"))

    def api(self) -> str | None:
        """The API of the stock library that this kind wraps, where it is not stock's first."""
        apis = self.driver(self.client).hello.get("apis") or [None]
        stock = self.driver("stock").hello.get("apis") or [None]
        return apis[0] if apis[0] in stock and apis[0] != stock[0] else None

    def scenario(self, seed: str, kinds: list[str]) -> Case:
        """The scenario of a seed `7/42`: each has a seed of its own, so that one can be run without those before it."""
        return scenario(random.Random(seed), kinds, int(seed.rpartition("/")[2]))

    def difference(self, case: Case) -> str | None:
        """The difference in this scenario, run once."""
        try:
            run = Run(case, self.client, case.schemes[0], "direct")
            stock = play(Run(case, "stock", case.schemes[0], "direct"), self.driver("stock"), None, self.api())
            return difference(play(run, self.driver(self.client)), stock)
        except DriverSkipped:
            return None
        except DriverFault as fault:
            return f"driver fault: {fault.kind}: {fault.detail[:200]}"

    def different(self, numbers: Iterable[int], seed: int) -> Iterator[str | None]:
        """Run each scenario once: its seed where it differed, else None."""
        kinds = self.kinds()
        for number in numbers:
            name = f"{seed}/{number}"
            yield name if self.difference(self.scenario(name, kinds)) is not None else None

    def finding(self, seed: str, budget_s: float = 20.0) -> Finding | None:
        """The difference of this scenario if it comes again in one of three tries, shrunk within the budget.

        A difference that comes now and then is the machine's. Call it when nothing else runs.
        """
        case = self.scenario(seed, self.kinds())
        text, _ = comes_again(lambda: self.difference(case))
        if text is None:
            return None
        case, text = self.shrunk(case, text, budget_s)
        return Finding(seed, text, case)

    def shrunk(self, case: Case, text: str, budget_s: float) -> tuple[Case, str]:
        """The smallest scenario that still differs, found greedily within the budget."""
        deadline = time.monotonic() + budget_s
        progress = True
        while progress and time.monotonic() < deadline:
            progress = False
            for cut in smaller(case):
                if time.monotonic() >= deadline:
                    break
                found, _ = comes_again(lambda cut=cut: self.difference(cut), TIMES_CUT)  # type: ignore[misc]
                if found is not None:
                    case, text, progress = cut, found, True
                    break
        return case, text


def as_yaml(finding: Finding) -> str:
    """The finding as a case file."""
    case = finding.case
    raw = {
        "id": case.id,
        "title": finding.text[:200],
        "covers": case.covers,
        "schemes": case.schemes,
        "open": case.open,
        "server": case.server,
        "do": case.do,
        "expect": case.expect,
    }
    text = yaml.safe_dump({"version": 1, "family": "WIRE", "cases": [raw]}, sort_keys=False, width=120)
    return f"# Found by the fuzzer, seed {finding.seed}: {finding.text}\n{text}"


def run_share(name: str, client: str, first: int, count: int, seed: int) -> ShareResult:
    """Run one share of the scenarios with one client kind, each once."""
    sys.setswitchinterval(0.0005)
    started = time.monotonic()
    result = ShareResult(client)
    with Fuzzer(_adapter(name), client) as fuzzer:
        try:
            for found in fuzzer.different(range(first, first + count), seed):
                result.ran += 1
                if found is not None:
                    result.different.append(found)
        except DriverSkipped as skipped:
            result.skipped = str(skipped)
        except DriverFault as fault:
            result.fault = str(fault)
    result.seconds = time.monotonic() - started
    return result


def fuzz(names: list[str], clients: list[str], numbers: range, seed: int, jobs: int, folder: Path) -> list[Result]:
    """Run the scenarios `numbers` with each adapter, shared among those of `clients` that it has, `jobs` at a time.

    A difference is looked at again at the end, alone. Findings are printed, and written to `folder` as cases.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent) as pool:
        there = dict(zip(names, pool.map(_kinds_there, names, [clients] * len(names)), strict=True))
        waiting = []
        for name in names:
            each = -(-len(numbers) // len(there[name])) if there[name] else 0
            for index, client in enumerate(there[name]):
                mine = numbers[index * each : (index + 1) * each]
                size = max(LEAST, -(-len(mine) // SHARES))
                for part in (mine[at : at + size] for at in range(0, len(mine), size)):
                    waiting.append((name, pool.submit(run_share, name, client, part.start, len(part), seed)))
        _wait([future for _, future in waiting])
        shares: dict[tuple[str, str], list[ShareResult]] = {}
        for name, future in waiting:
            ran = future.result()
            shares.setdefault((name, ran.client), []).append(ran)
    results = []
    for name in names:
        mine_ = [
            _result(name, client, shares.get((name, client)) or [ShareResult(client)], seed, folder)
            for client in clients
        ]
        write_junit(mine_, folder / f"judge-fuzz-{name}.xml", f"judge-fuzz-{name}")
        results += mine_
    return results


def _wait(shares: list[Future[ShareResult]]) -> None:
    """Wait for all shares, and say every 15 seconds how far they are."""
    left = set(shares)
    started = time.monotonic()
    while left:
        left = wait(left, timeout=15.0).not_done
        if left:
            finished = [future.result() for future in shares if future not in left]
            ran, again = sum(one.ran for one in finished), sum(len(one.different) for one in finished)
            line = f"fuzz: {len(finished)}/{len(shares)} shares, {ran} scenarios run, {again} to be run again"
            print(f"{line}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _adapter(name: str) -> Adapter:
    return reference() if name == "reference" else adapters_of_checkout([name])[0]


def _kinds_there(name: str, clients: list[str]) -> list[str]:
    """Those of `clients` that the adapter's driver has; one that does not start counts, to be reported."""
    there = []
    for client in clients:
        with Fuzzer(_adapter(name), client) as fuzzer:
            try:
                fuzzer.driver(client)
            except DriverSkipped:
                continue
            except DriverFault:
                pass
            there.append(client)
    return there


def _result(name: str, client: str, shares: list[ShareResult], seed: int, folder: Path) -> Result:
    """The result of one client kind, after what differed was run again."""
    result = Result(name, f"fuzz/{client}/seed-{seed}", "fuzz", client, "", "", ["WIRE-13"], "MUST", Status.OK)
    result.title = "Random scenarios have the same results as with stock"
    ran = sum(share.ran for share in shares)
    started = time.monotonic()
    settled = 0
    with Fuzzer(_adapter(name), client) as fuzzer:
        try:
            for seed_of_scenario in [one for share in shares for one in share.different]:
                finding = fuzzer.finding(seed_of_scenario)
                if finding is None:
                    settled += 1
                    continue
                result.status = Status.DEVIATES
                folder.mkdir(parents=True, exist_ok=True)
                file = folder / f"fuzz-{name}-{client}-{finding.seed.replace('/', '-')}.yaml"
                file.write_text(as_yaml(finding))
                result.problems.append(f"seed {finding.seed}: {finding.text} (shrunk: {file.name})")
                if len(result.problems) >= MOST:
                    break
        except DriverFault as fault:
            result.status, result.problems = Status.FAULT, [str(fault)]
    for share in shares:
        if share.fault is not None:
            result.status, result.problems = Status.FAULT, [*result.problems, share.fault]
    if settled:
        result.notes.append(f"{settled} scenarios differed once and in none of {TIMES} more tries, settled")
        result.failed_tries, result.tries = 1, 1 + TIMES
    if not ran and result.status == Status.OK:
        result.status = Status.NOT_APPLICABLE
    result.seconds = round(sum(share.seconds for share in shares) + time.monotonic() - started, 2)
    said = f"{ran} scenarios of seed {seed}" if ran else "not applicable"
    text = f"{name:<10} {client:<9} {said}, {len(result.problems)} differences, {result.seconds:.0f} s"
    print("\n    ".join([text, *result.problems, *result.notes]), flush=True)
    return result
