"""Running: shares of work, judging again what failed, known failures, clients over a second base library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from onewrite_lab.tap.answers import Answer
from onewrite_lab.tap.conversation import Conversation
from onewrite_lab.tap.exchange import Exchange

from conftest import joined_client
from onewrite_conformance.contract.cases import Case
from onewrite_conformance.driver import Driver
from onewrite_conformance.run.adapters import Adapter, Second, adapter_names, of_command
from onewrite_conformance.run.judge import MOST_AGAIN, Judge
from onewrite_conformance.run.known import KnownFailures
from onewrite_conformance.run.parallel import brief, judge_all, shares_of
from onewrite_conformance.run.result import Result, Status

TOY = """
import json, os, sys
argument, requests = sys.argv[1], 0
for line in sys.stdin:
    m = json.loads(line)
    reply = {"ok": True}
    if m["cmd"] == "hello":
        kind = m["client"]
        reply = {"protocol": 2, "client": kind, "adapter": "toy", "version": "1", "runtime": "toy",
                 "base": {"name": os.environ.get("ONEWRITE_DRIVER_API", "toy"), "version": "1"}, "pid": os.getpid(), "capabilities": ["proxy_forward"]}
    elif m["cmd"] == "open":
        reply = {"client_id": 1}
    elif m["cmd"] == "request":
        requests += 1
        REQUEST
    print(json.dumps({"seq": m["seq"], **reply}), flush=True)
    if m["cmd"] == "bye":
        break
"""
# Fails as often as the file beside it says, over all its processes together.
UNSTEADY = """
        count = int(open(argument).read())
        if count:
            open(argument, "w").write(str(count - 1))
        reply = {"outcome": "cancelled" if count else "error", "error": {"kind": "other"}}
"""
# Its stock has another error in one of four requests.
CHANCE = """
        usual = argument if kind == "onewrite" else "Rare" if requests % 4 == 0 else "Usual"
        reply = {"outcome": "error", "error": {"kind": "other", "type": usual}}
"""


def toy(folder: Path, failures: int, *, again: bool = True) -> Adapter:
    (folder / "toy.py").write_text(TOY.replace("REQUEST", UNSTEADY))
    (folder / "left").write_text(str(failures))
    command = [sys.executable, str(folder / "toy.py"), str(folder / "left")]
    return Adapter("toy", command, again=again)


def case(name: str = "a-case") -> Case:
    return Case(
        "TCP-1", name, "A title", [{"request": {}}], schemes=["http"],
        expect={"outcome": "error", "requests": 0},
    )  # fmt: skip


def judged(adapter: Adapter, cases: list[Case], *, whole: bool = False, also: tuple[str, ...] = ()) -> list[Result]:
    with Judge(adapter, cases, clients=None if whole else ["onewrite", *also], stock=False) as judge:
        results = list(judge.results())
        judge.finish(results)
    return results


def test_what_passes_the_second_time_is_unsteady(tmp_path: Path) -> None:
    (only,) = judged(toy(tmp_path, 1), [case()])
    assert (only.status, only.failing) == (Status.OK, False)
    assert only.unsteady.startswith("outcome is cancelled")


@pytest.mark.parametrize("failures", [2, 1000])
def test_what_fails_twice_fails(tmp_path: Path, failures: int) -> None:
    (only,) = judged(toy(tmp_path, failures), [case()])
    assert (only.status, only.unsteady) == (Status.DEVIATES, "")


def test_a_mutant_is_red_at_once(tmp_path: Path) -> None:
    (only,) = judged(toy(tmp_path, 1, again=False), [case()])
    assert only.status == Status.DEVIATES


def test_many_failures_are_no_bad_luck(tmp_path: Path) -> None:
    number = MOST_AGAIN + 1
    results = judged(toy(tmp_path, number), [case(f"a-{number}") for number in range(number)])
    assert all(one.failing for one in results)


def test_a_known_failure_that_passed_once_is_not_yet_stale(tmp_path: Path) -> None:
    file = tmp_path / "known-failures.txt"
    file.write_text("tcp/1/a-case  comes and goes\n")
    for failures, status in ((0, Status.STALE), (1000, Status.KNOWN)):
        adapter = toy(tmp_path, failures)
        adapter.known = KnownFailures(file)
        assert [one.status for one in judged(adapter, [case()], whole=True)][-1] == status
    # It passes in the round of all, and fails when the passing line is run again.
    adapter = toy(tmp_path, 0)
    adapter.known = KnownFailures(file)
    with Judge(adapter, [case()], stock=False) as judge:
        results = list(judge.results())
        (tmp_path / "left").write_text("1")
        judge.finish(results)
    assert [one.status for one in results] == [Status.KNOWN, Status.OK]


def test_a_client_over_a_second_base_library_stands_beside_the_kind_it_is_judged_as() -> None:
    adapter = Adapter(
        "toy", ["toy"], second={"all": Second("onewrite", "a"), "wire": Second("patched", "w", ("WIRE",))}
    )
    wire, time = (Case(of, name, name, []) for name, of in (("a", "WIRE-1"), ("b", "TIME-1")))
    judge = Judge(adapter, [wire, time], stock=False)
    assert [run.path.split("/")[2:4] for run in judge.by_path.values() if run.scheme == "http"] == [
        ["a", "onewrite"], ["a", "patched"], ["a", "all"], ["a", "wire"],
        ["b", "onewrite"], ["b", "patched"], ["b", "all"],
    ]  # fmt: skip
    assert adapter.driver_of("wire") == ("patched", {"ONEWRITE_DRIVER_API": "w"})


@pytest.mark.parametrize(("shown", "status"), [("Usual", Status.OK), ("Rare", Status.OK), ("Other", Status.DEVIATES)])
def test_an_error_that_stock_leaves_to_chance(tmp_path: Path, shown: str, status: str) -> None:
    (tmp_path / "toy.py").write_text(TOY.replace("REQUEST", CHANCE))
    adapter = Adapter("toy", [sys.executable, str(tmp_path / "toy.py"), shown])
    one = case()
    one.same = ["outcome"]
    (only,) = judged(adapter, [one])
    assert (only.status, only.problems == []) == (status, status == Status.OK)


@pytest.mark.parametrize("jobs", [1, 3])
def test_shares_hold_every_run_once(tmp_path: Path, jobs: int) -> None:
    adapter = toy(tmp_path, 0)
    cases = [case(f"a-{number}") for number in range(30)] + [case("b-env")]
    cases[-1].env = {"ONEWRITE_DISABLED": "true"}
    judge = Judge(adapter, cases, clients=["onewrite"])
    shares = shares_of(judge.by_path.values(), "toy", jobs)
    assert len(shares) == jobs
    results = [one for done in judge_all({"toy": judge}, shares, jobs) for one in done]
    assert sorted(one.case for one in results) == sorted(one.id for one in cases)
    assert {one.status for one in results} == {Status.OK}


def test_the_brief_list_has_each_case_once_and_each_combination(tmp_path: Path) -> None:
    cases = [case(f"case-{number:02}") for number in range(12)]
    for one in cases:
        one.schemes, one.routes = ["http", "https"], ["direct", "forward"]
    cases[0].needs = ["a-thing-that-the-toy-lacks"]
    with Judge(toy(tmp_path, 0), cases, stock=False) as judge:
        runs, each = brief(judge), brief(judge, each_client=True)
        assert runs == brief(judge)
        results = list(judge.results(run.path for run in runs))
    assert [one.case for one in results if one.status == Status.NOT_APPLICABLE] == ["tcp/1/case-00"]
    assert [run.case.id for run in runs] == [one.id for one in cases]
    assert len({run.combination for run in runs}) == 6
    assert len({(run.case.id, run.client) for run in each}) == len(each) == 23


def test_a_killed_judge_leaves_no_process(tmp_path: Path) -> None:
    toy(tmp_path, 10_000)
    program = tmp_path / "judging.py"
    program.write_text(
        "import sys\nfrom pathlib import Path\nfrom test_run import case, judge_all, shares_of, toy, Judge\n"
        "if __name__ == '__main__':\n"
        "    adapter, cases = toy(Path(sys.argv[1]), 10_000), [case(f'case-{n}') for n in range(2000)]\n"
        "    judge = Judge(adapter, cases, clients=['onewrite'])\n"
        "    for _ in judge_all({'toy': judge}, shares_of(judge.by_path.values(), 'toy', 100), 2):\n"
        "        print('one', flush=True)\n"
    )
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "ONEWRITE_TEST_MARK": str(tmp_path)}

    def alive() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if str(tmp_path).encode() in (process / "environ").read_bytes() + (process / "cmdline").read_bytes():
                    found.append(process.name)
            except OSError:
                continue
        return found

    with subprocess.Popen([sys.executable, str(program), str(tmp_path)], stdout=subprocess.PIPE, env=env) as judging:
        assert judging.stdout is not None
        for _ in range(4):
            assert judging.stdout.readline() == b"one\n"
        assert len(alive()) >= 4  # the judge, its workers, a driver
        judging.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive() == []


def test_a_second_client_has_its_environment(tmp_path: Path) -> None:
    adapter = toy(tmp_path, 0)
    adapter.second = {"toy:b": Second("onewrite", "b")}
    found = {(one.path, one.base, one.status) for one in judged(adapter, [case()], also=("toy:b",))}
    assert found == {
        ("tcp/1/a-case/onewrite/http/direct", "toy 1, toy", Status.OK),
        ("tcp/1/a-case/toy:b/http/direct", "b 1, toy", Status.OK),
    }


def test_known_failures(tmp_path: Path) -> None:
    file = tmp_path / "known-failures.txt"
    file.write_text("# comment\n\nwire-*  not yet\ntcp-1/patched/*/*  older base\nno-reason\n")
    known = KnownFailures(file)
    assert len(known.lines) == 3
    assert "no reason" in known.faults[0]
    line = known.find("wire-post/onewrite/http/direct")
    assert line is not None
    line.passed.append("wire-post/onewrite/http/direct")
    assert known.find("tcp-1/onewrite/http/direct") is None
    names = {"wire-post/onewrite/http/direct", "tcp-1/patched/http/direct", "no-reason/x"}
    assert ["passes now" in text for text in known.stale(names)] == [True]
    assert any("names no case" in text for text in known.stale({"wire-post/onewrite/http/direct"}))


def test_an_adapter_is_a_folder_with_a_driver(tmp_path: Path) -> None:
    driver = tmp_path / "go" / "driver"
    driver.mkdir(parents=True)
    assert adapter_names(tmp_path) == []
    (driver / "run").write_text("#!/bin/sh\n")
    assert adapter_names(tmp_path) == ["go"]
    (tmp_path / "go" / "known-failures.txt").write_text("a-case  why\n")
    (driver / "judge.yaml").write_text(
        "stock: net/http\nenvironment: {A: b}\nclients: {x: {kind: patched, api: y}}\njoining_buffer: {x: 8192}\n"
    )
    for command in (tmp_path / "go", driver / "run"):
        found = of_command(str(command))
        assert (found.name, found.command, found.stock) == ("go", [str(driver / "run")], "net/http")
        assert found.known.find("a-case/stock/http/direct") is not None
        assert found.env == {"A": "b"}
        assert found.second == {"x": Second("patched", "y")}
        assert (found.limit_of("x"), found.limit_of("patched")) == (8192, 16384)
    assert of_command("python driver.py").command == ["python", "driver.py"]


def test_a_pause_begins_when_the_tap_has_done_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may delay that beyond the pause; the next request must not meet a closing connection."""
    end, request = Conversation._end, Driver.request
    closed: list[int] = []
    asked: list[int] = []

    def late(self: Conversation, answer: Answer, exchange: Exchange, *, complete: bool) -> bool:
        time.sleep(0.5)
        goes_on = end(self, answer, exchange, complete=complete)
        closed.append(time.monotonic_ns())
        return goes_on

    def noted(self: Driver, *arguments: Any, **fields: Any) -> dict[str, Any]:
        asked.append(time.monotonic_ns())
        return request(self, *arguments, **fields)

    monkeypatch.setattr(Conversation, "_end", late)
    monkeypatch.setattr(Driver, "request", noted)
    one = case()
    one.server = {"answers": [{"then": "unsolicited"}]}
    one.do, one.expect = [{"request": {}}, {"pause_ms": 1}, {"request": {}}], {}
    with Judge(joined_client(), [one], clients=["onewrite"]) as judge:
        assert len(list(judge.results())) == 1
    assert asked[1] > closed[0]
