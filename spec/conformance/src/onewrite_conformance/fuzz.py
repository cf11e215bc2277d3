"""The differential fuzzer: seeded stories, told to an adapter and to its stock library, must come out the same.

`python -m onewrite_conformance.fuzz --adapter node --count 300 --seed 1`

A story is a case made by chance: up to four requests of all body kinds, with sizes around the limits, and a server
that answers in many ways. Compared are outcome, status, body and error class; the requests that arrived, parsed; and
the segments, of which an adapter may not need more than stock. A difference that comes three times is shrunk to the
least story that still shows it, and written as a case.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from onewrite_conformance.cases import Case, Run
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, content
from onewrite_conformance.exchange import Exchange
from onewrite_conformance.places import LANGUAGES, reports
from onewrite_conformance.play import Observation, Sample, play
from onewrite_conformance.results import Result, Status, summary, write_junit
from onewrite_conformance.runner import Adapter, adapters_of_checkout, reference
from onewrite_conformance.stock_checks import even
from onewrite_conformance.stories import smaller, story

__all__ = ["Fuzzer", "difference", "fuzz_adapter", "main"]

TRIES = 3
ONE_WRITE = 16384


# -- comparing ---------------------------------------------------------------------------------------------


def difference(ours: Observation, stock: Observation) -> str | None:
    """What differs between the two, in one line, or None."""
    for index, (one, other) in enumerate(zip(ours.samples, stock.samples, strict=True)):
        told, told_stock = _told(one, ours), _told(other, ours, like=stock)
        if told != told_stock:
            return f"request {index}: {told} against {told_stock}"
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
        more = (mine.segments or 0) - (theirs.segments or 0)
        # How the kernel cuts what is larger is chance. And Nagle's algorithm, where stock leaves it on, joins tails
        # that come in several writes: fewer segments, later. That is the disease, not a measure.
        small = not nagle and len(mine.request.wire) <= ONE_WRITE
        if small and mine.complete and mine.segments and theirs.segments and more > ours.loss.total:
            return f"request {mine.number}: {mine.segments} segments, stock needs {theirs.segments}"
    return _faults(ours)


def _told(sample: Sample, ours: Observation, like: Observation | None = None) -> dict[str, Any]:
    reply = sample.reply
    told = {name: reply.get(name) for name in ("outcome", "status", "body_sha256")}
    if reply["outcome"] == "error" and "own_client" not in ours.capabilities:
        told["error"] = reply["error"].get("type")
    return told


def _parsed(exchange: Exchange) -> dict[str, Any]:
    """What a request means: everything but the order of headers and how a chunked body was cut."""
    request = exchange.request
    head = even(exchange).split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
    body = bytes(request.body)
    for value in request.values("content-type"):
        if "boundary=" in value:
            body = body.replace(value.partition("boundary=")[2].strip('"').encode(), b"BOUNDARY")
            # The length of a boundary may be chance as well.
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


class Fuzzer:
    """Tells stories to one client kind of an adapter and to its stock client."""

    def __init__(self, adapter: Adapter, client: str, *, stock: Adapter | None = None, timeout_s: float = 15.0) -> None:
        self.client, self.timeout_s = client, timeout_s
        self._adapters = {client: adapter, "stock": stock or adapter}
        self._drivers: dict[str, Driver] = {}

    def driver(self, client: str) -> Driver:
        held = self._drivers.get(client)
        if held is None or not held.alive:
            held = self._drivers[client] = Driver(self._adapters[client].command, client, timeout_s=self.timeout_s)
        return held

    def close(self) -> None:
        for held in self._drivers.values():
            held.bye()

    def kinds(self) -> list[str]:
        """Body kinds that both can send."""
        both = self.driver(self.client).capabilities & self.driver("stock").capabilities
        return sorted(name.partition(":")[2] for name in both if name.startswith("body:"))

    def api(self) -> str | None:
        """The API of the stock library that this kind wraps, where it is not stock's first."""
        apis = self.driver(self.client).hello.get("apis") or [None]
        stock = self.driver("stock").hello.get("apis") or [None]
        return apis[0] if apis[0] in stock and apis[0] != stock[0] else None

    def told(self, case: Case) -> str | None:
        """The difference in this story, the first time it is told."""
        try:
            run = Run(case, self.client, case.schemes[0], "direct")
            stock = play(Run(case, "stock", case.schemes[0], "direct"), self.driver("stock"), None, self.api())
            return difference(play(run, self.driver(self.client)), stock)
        except DriverSkipped:
            return None
        except DriverFault as fault:
            return f"driver fault: {fault.kind}: {fault.detail[:200]}"

    def stays(self, case: Case) -> str | None:
        """The difference, when it comes each time: what comes once is the machine, not the client."""
        found = None
        for _ in range(TRIES):
            found = self.told(case)
            if found is None:
                return None
        return found

    def shrunk(self, case: Case, text: str, budget_s: float) -> tuple[Case, str]:
        """The least story that still differs, found greedily within the budget."""
        deadline = time.monotonic() + budget_s
        progress = True
        while progress and time.monotonic() < deadline:
            progress = False
            for cut in smaller(case):
                if time.monotonic() >= deadline:
                    break
                found = self.stays(cut)
                if found is not None:
                    case, text, progress = cut, found, True
                    break
        return case, text

    def run(self, count: int, seed: int, most: int = 5, budget_s: float = 20.0) -> Iterator[Finding | None]:
        """Tell `count` stories; None for each that came out the same. Ends early after `most` findings, each of which
        is shrunk for at most `budget_s`."""
        kinds = self.kinds()
        findings = 0
        for number in range(count):
            # Each story has a seed of its own, so that one can be told again without those before it.
            case = story(random.Random(f"{seed}/{number}"), kinds, number)
            text = self.stays(case)
            if text is None:
                yield None
                continue
            case, text = self.shrunk(case, text, budget_s)
            yield Finding(f"{seed}/{number}", text, case)
            findings += 1
            if findings >= most:
                return


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


def fuzz_adapter(name: str, clients: list[str], count: int, seed: int, folder: Path) -> list[Result]:
    """Fuzz one adapter, its client kinds one after the other; findings are printed and written."""
    sys.setswitchinterval(0.0005)
    adapter = reference() if name == "reference" else adapters_of_checkout([name])[0]
    results = []
    left = count
    # Those that are not there leave their share to the one that is.
    for index, client in reversed(list(enumerate(clients))):
        result, told = _fuzz(adapter, client, left // (index + 1), seed, folder)
        left -= told
        results.append(result)
    write_junit(results, folder / f"judge-fuzz-{name}.xml", f"judge-fuzz-{name}")
    return results


def _fuzz(adapter: Adapter, client: str, count: int, seed: int, folder: Path) -> tuple[Result, int]:
    """The result of one client kind, and how many stories it was told."""
    started = time.monotonic()
    path = f"fuzz/{client}/seed-{seed}"
    result = Result(adapter.name, path, "fuzz", client, "", "", ["WIRE-13"], "MUST", Status.OK)
    fuzzer = Fuzzer(adapter, client)
    told = 0
    try:
        for finding in fuzzer.run(count, seed):
            told += 1
            if finding is not None:
                result.status = Status.DEVIATES
                folder.mkdir(parents=True, exist_ok=True)
                file = folder / f"fuzz-{adapter.name}-{client}-{finding.seed.replace('/', '-')}.yaml"
                file.write_text(as_yaml(finding))
                result.problems.append(f"seed {finding.seed}: {finding.text} (shrunk: {file.name})")
    except DriverSkipped as skipped:
        result.status, result.notes = Status.NOT_APPLICABLE, [str(skipped)]
    except DriverFault as fault:
        result.status, result.problems = Status.FAULT, [str(fault)]
    finally:
        fuzzer.close()
    result.seconds = round(time.monotonic() - started, 2)
    said = "not applicable" if result.status == Status.NOT_APPLICABLE else f"{told} stories of seed {seed}"
    text = f"{adapter.name:<10} {client:<9} {said}, {len(result.problems)} differences, {result.seconds:.0f} s"
    print("\n    ".join([text, *result.problems]), flush=True)
    return result, told


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the adapters. 0: everything came out the same; 1: something did not."""
    parser = argparse.ArgumentParser(prog="python -m onewrite_conformance.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--adapter", action="append", choices=[*LANGUAGES, "reference"], help="default: all four")
    parser.add_argument("--client", action="append", choices=["onewrite", "patched"], help="default: both")
    parser.add_argument("--count", type=int, default=300, help="stories per adapter, shared among its kinds (300)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed tells the same stories (1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="adapters fuzzed at the same time (default 1)")
    options = parser.parse_args(arguments)
    clients = options.client or ["onewrite", "patched"]
    folder = reports()
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [
            pool.submit(fuzz_adapter, name, clients, options.count, options.seed, folder)
            for name in options.adapter or LANGUAGES
        ]
        results = [result for future in waiting for result in future.result()]
    print(summary(results))
    return 1 if any(result.failing for result in results) else 0


if __name__ == "__main__":
    # Workers import this module by its own name, not as __main__.
    from onewrite_conformance.fuzz import main as entry

    raise SystemExit(entry())
