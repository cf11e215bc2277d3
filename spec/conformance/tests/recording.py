"""Good runs as text: recorded once from real adapters, and read by the tests of the judge.

    ../.venv/bin/python tests/recording.py ../../python ../../ruby    # adapters, the first that has a client is taken

Of many equal requests two are recorded. A body of one repeated letter is its letter and its length.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from onewrite_lab.tap.answers import Answer
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.http1 import RequestParser

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.contract.cases import LIMIT, Case, Run
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.driver import DriverFault, DriverSkipped
from onewrite_conformance.run.adapters import of_command
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.play import play

FILE = Path(__file__).parent / "recorded.jsonl"
PLAIN: tuple[str, ...] = (
    "number",
    "nth_on_connection",
    "via",
    "complete",
    "segments",
    "sent_twice",
    "records",
    "first_record_bytes",
)
PLAIN += ("first_ns", "complete_ns", "answer_ns", "last_write_ns", "answered_ns", "followed", "extra")
SEEN = ("capabilities", "names", "hooked", "left_open", "ended_before_close", "warnings", "ended_unix_ns")


def few(case: Case) -> Case:
    """The case with two requests in place of many equal ones, unless they are counted."""
    if case.expect.keys() & {"connections", "requests"} and case.expect.get("reused") is False:
        return case
    return replace(case, do=[step | {"repeat": 2} if step.get("repeat", 1) > 2 else step for step in case.do])


def _pack(data: bytes) -> Any:
    head, end, body = data.partition(b"\r\n\r\n")
    if len(body) > 100 and len(set(body)) == 1:
        return [(head + end).decode("latin-1"), chr(body[0]), len(body)]
    return data.decode("latin-1")


def _unpack(data: Any) -> bytes:
    text: str = data if isinstance(data, str) else data[0] + data[1] * data[2]
    return text.encode("latin-1")


def _told(value: Any, usual: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as usual."""
    return {name: told for name, told in asdict(value).items() if told != getattr(usual, name)}


def packed(seen: Observation) -> dict[str, Any]:
    """The observation as JSON."""
    arrivals = [_told(one, Arrival(-1, 0, 0, "")) | {"tunnel": _pack(one.tunnel)} for one in seen.arrivals]
    exchanges = [
        {name: getattr(one, name) for name in PLAIN}
        | {"arrival": one.arrival.index, "wire": _pack(one.request.wire), "first_piece": _pack(one.first_piece)}
        | {"answer": None if one.answer is None else _told(one.answer, Answer())}
        for one in seen.exchanges
    ]
    samples = [
        {"request": one.request, "reply": one.reply, "counted": one.counted, "step": one.step, "batch": one.batch}
        | {"exchanges": [exchange.number for exchange in one.exchanges]}
        for one in seen.samples
    ]
    rest: dict[str, Any] = {name: getattr(seen, name) for name in SEEN}
    rest |= {name: sorted(rest[name]) for name in ("capabilities", "ended_before_close")}
    return {"path": seen.run.path, **rest, "arrivals": arrivals, "exchanges": exchanges, "samples": samples}


def unpacked(line: str, case: Case) -> Observation:
    """The observation again, of this case."""
    data = json.loads(line)
    client, scheme, route = data["path"].split("/")[3:]
    arrivals = [Arrival(**one | {"tunnel": _unpack(one["tunnel"])}) for one in data["arrivals"]]
    exchanges = {}
    for one in data["exchanges"]:
        parser = RequestParser()
        parser.feed(_unpack(one["wire"]))
        made = Exchange(**{name: one[name] for name in PLAIN}, arrival=arrivals[one["arrival"]], request=parser.request)
        made.first_piece = _unpack(one["first_piece"])
        made.answer = None if one["answer"] is None else Answer(**one["answer"])
        exchanges[made.number] = made
    samples = [
        Sample(**one | {"exchanges": [exchanges[number] for number in one["exchanges"]]}) for one in data["samples"]
    ]
    rest = {name: data[name] for name in SEEN}
    rest |= {name: frozenset(data[name]) for name in ("capabilities", "ended_before_close")}
    run = Run(few(case), client, scheme, route)
    return Observation(run, samples, list(exchanges.values()), arrivals, **rest)


def recorded(contract: list[Case]) -> dict[str, tuple[str, Case]]:
    """The recordings by path, with their cases."""
    cases = {case.id: case.at(LIMIT) for case in contract}
    lines = {json.loads(line)["path"]: line for line in FILE.read_text().splitlines()}
    return {path: (line, cases["/".join(path.split("/")[:3])]) for path, line in lines.items()}


def main(folders: list[str]) -> None:
    from test_mutants import MUTANTS

    cases, _, faults = load_all()
    assert not faults, faults
    wanted = dict.fromkeys(mutant.path for mutant in MUTANTS)
    lines = dict.fromkeys(wanted, "")
    for folder in folders:
        with Judge(of_command(folder), [few(case) for case in cases], only=list(wanted)) as judge:
            for path, run in judge.by_path.items():
                if lines[path] or judge.why_not(run):
                    continue
                try:
                    lines[path] = json.dumps(
                        packed(play(run, judge.driver(run.client, run.case.env))), separators=(",", ":")
                    )
                except (DriverFault, DriverSkipped) as fault:
                    print(path, folder, fault)
    print("not recorded:", [path for path, line in lines.items() if not line])
    FILE.write_text("".join(f"{line}\n" for line in lines.values() if line))


if __name__ == "__main__":
    main(sys.argv[1:])
