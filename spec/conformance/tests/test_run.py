"""Running: shares of work, judging again what failed, known failures, clients over a second base library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
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
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.known import KnownFailures
from onewrite_conformance.run.plan import Plan, Share, length_s
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.settle import MOST, settle
from onewrite_conformance.run.shares import draw, judge_all, shares_of

TOY = """
import json, os, sys
argument, requests = sys.argv[1], 0
for line in sys.stdin:
    m = json.loads(line)
    reply = {"ok": True}
    if m["cmd"] == "hello":
        kind = m["client"]
        reply = {"protocol": 1, "client": kind, "adapter": "toy", "version": "1", "runtime": "toy",
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
    return Adapter("toy", command, witness=False, settle=again)


def case(name: str = "a-case") -> Case:
    return Case(
        "TCP-1", name, "A title", [{"request": {}}], schemes=["http"],
        expect={"outcome": "error", "requests": 0},
    )  # fmt: skip


def judged(adapter: Adapter, cases: list[Case], *, whole: bool = False, also: tuple[str, ...] = ()) -> list[Result]:
    with Judge(adapter, cases, {}, clients=None if whole else ["onewrite", *also], stock=False) as judge:
        results = list(judge.results())
        judge.finish(results)
    return results


def result(status: str, path: str = "a/onewrite/http/direct") -> Result:
    problems = ["why"] if status in (Status.DEVIATES, Status.FAULT) else []
    return Result("toy", path, "a", "onewrite", "http", "direct", "TCP-1", "MUST", status, problems)


def test_a_driver_fault_is_tried_again_as_well() -> None:
    first = result(Status.FAULT)
    others = iter([Status.OK, Status.CANNOT_TELL, Status.OK])
    settle(first, lambda: result(next(others)))
    assert (first.status, first.failed_tries, first.tries, first.unsteady) == (Status.OK, 1, 4, True)
    assert first.notes[0] == "failed 1 of 4, settled; at first: why"


def test_bad_luck_passes_and_is_reported(tmp_path: Path) -> None:
    (only,) = judged(toy(tmp_path, 1), [case()])
    assert (only.status, only.unsteady, only.failing) == (Status.OK, True, False)
    assert only.notes[0].startswith("failed 1 of 4, settled; at first: outcome is cancelled")


@pytest.mark.parametrize("failures", [2, 1000])
def test_a_fault_that_comes_again_fails_and_says_so(tmp_path: Path, failures: int) -> None:
    (only,) = judged(toy(tmp_path, failures), [case()])
    assert (only.status, only.failed_tries, only.tries, only.unsteady) == (Status.DEVIATES, 2, 2, False)
    assert "failed 2 of 2, alone on the machine" in only.notes


def test_a_mutant_is_red_at_once(tmp_path: Path) -> None:
    (only,) = judged(toy(tmp_path, 1, again=False), [case()])
    assert (only.status, only.tries) == (Status.DEVIATES, 1)


def test_many_failures_are_no_bad_luck(tmp_path: Path) -> None:
    results = judged(toy(tmp_path, 1000), [case(f"a-{number}") for number in range(MOST + 1)])
    assert all(one.failing and one.tries == 1 for one in results)


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
    with Judge(adapter, [case()], {}, stock=False) as judge:
        results = list(judge.results())
        (tmp_path / "left").write_text("1")
        judge.finish(results)
    assert [one.status for one in results] == [Status.OK, Status.OK]


def test_a_client_over_a_second_base_library_stands_beside_the_kind_it_is_judged_as() -> None:
    adapter = Adapter(
        "toy", ["toy"], second={"all": Second("onewrite", "a"), "wire": Second("patched", "w", ("WIRE",))}
    )
    wire, time = (Case(of, name, name, []) for name, of in (("a", "WIRE-1"), ("b", "TIME-1")))
    judge = Judge(adapter, [wire, time], {}, stock=False)
    assert [run.path.split("/")[2:4] for run in judge.by_path.values() if run.scheme == "http"] == [
        ["a", "onewrite"], ["a", "patched"], ["a", "all"], ["a", "wire"],
        ["b", "onewrite"], ["b", "patched"], ["b", "all"],
    ]  # fmt: skip
    assert adapter.driver_of("wire") == ("patched", {"ONEWRITE_DRIVER_API": "w"})


@pytest.mark.parametrize(("shown", "status"), [("Usual", Status.OK), ("Rare", Status.OK), ("Other", Status.DEVIATES)])
def test_an_error_that_stock_leaves_to_chance(tmp_path: Path, shown: str, status: str) -> None:
    (tmp_path / "toy.py").write_text(TOY.replace("REQUEST", CHANCE))
    adapter = Adapter("toy", [sys.executable, str(tmp_path / "toy.py"), shown], witness=False)
    one = case()
    one.same = ["outcome"]
    (only,) = judged(adapter, [one])
    assert (only.status, only.problems == []) == (status, status == Status.OK)


@pytest.mark.parametrize("jobs", [1, 2])
def test_shares_hold_every_run_once(tmp_path: Path, jobs: int) -> None:
    adapter = toy(tmp_path, 0)
    cases = [case(f"a-{number}") for number in range(30)]
    cases += [case("b-env"), case("c-env")]
    for one in cases[-2:]:
        one.env = {"ONEWRITE_DISABLED": "true"}
    judge = Judge(adapter, cases, {}, clients=["onewrite"])
    shares = shares_of(judge, [[run] for run in judge.by_path.values()])
    assert [path.split("/")[2] for (path,) in shares[-1].paths] == ["b-env", "c-env"]
    assert {len(share.paths) for share in shares[:-1]} == {1}
    results = list(judge_all({"toy": judge}, shares, jobs))
    assert sorted(one.case for one in results) == sorted(one.id for one in cases)
    assert {one.status for one in results} == {Status.OK}


@pytest.mark.parametrize("seed", [3, 4])
def test_of_each_case_one_run_is_drawn_and_each_combination_comes_up(tmp_path: Path, seed: int) -> None:
    adapter = toy(tmp_path, 0)
    cases = [case(f"case-{number}") for number in range(12)]
    for one in cases:
        one.schemes, one.routes = ["http", "https"], ["direct", "forward"]
    cases[0].needs = ["a-thing-that-the-toy-lacks"]
    judge = Judge(adapter, cases, {}, stock=False, drawn=True)
    with judge:
        chosen = draw(judge, seed)
        assert chosen == draw(judge, seed) != draw(judge, 5)
        results = list(judge.results(chosen))
    assert [one.case for one in results if one.status == Status.NOT_APPLICABLE] == ["tcp/1/case-0"]
    runs = [one[0] for one in chosen]
    assert sorted(run.case.id for run in runs) == sorted(one.id for one in cases)
    combinations = Counter(run.combination for run in runs)
    assert len(combinations) == 6
    assert set(combinations.values()) == {2}


def test_a_killed_judge_leaves_no_process(tmp_path: Path) -> None:
    toy(tmp_path, 10_000)
    program = tmp_path / "judging.py"
    program.write_text(
        "import sys\nfrom pathlib import Path\nfrom test_run import case, judge_all, shares_of, toy, Judge\n"
        "if __name__ == '__main__':\n"
        "    adapter, cases = toy(Path(sys.argv[1]), 10_000), [case(f'case-{n}') for n in range(2000)]\n"
        "    judge = Judge(adapter, cases, {}, clients=['onewrite'])\n"
        "    for _ in judge_all({'toy': judge}, shares_of(judge, [[run] for run in judge.by_path.values()]), 2):\n"
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


def test_the_longest_share_comes_first_and_a_worker_keeps_its_adapter() -> None:
    shares = [
        Share(name, paths=[[f"{name}-{seconds}"]], seconds=seconds) for name in ("long", "short") for seconds in (9, 30)
    ]
    shares += [Share("long", paths=[["long-99"]], seconds=99)]
    plan = Plan(shares, most=2)

    def given(worker: int) -> str | None:
        share = plan.next(worker)
        return None if share is None else share.paths[0][0]

    assert [given(0), given(0), given(1)] == ["long-99", "long-30", "short-30"]
    # For what is left of another adapter, where a worker is, no drivers are started.
    assert [given(0), given(0), given(1), given(1)] == ["long-9", None, "short-9", None]


def test_one_worker_judges_all_adapters() -> None:
    plan = Plan([Share(name, paths=[[name]], seconds=0.1) for name in ("a", "b", "c")], most=1)
    found = [share.adapter for share in iter(lambda: plan.next(0), None)]
    assert sorted(found) == ["a", "b", "c"]


def test_a_case_is_as_long_as_the_times_it_names() -> None:
    one = case()
    one.do = [{"request": {"timeout_ms": 200}, "warmup": 1, "repeat": 4, "gap_ms": 50}, {"pause_ms": 300}]
    one.server = {"answers": [{"delay_ms": 450}]}
    assert length_s(one) == pytest.approx(length_s(case()) + 2.0)
    one.env = {"ONEWRITE_DISABLED": "1"}
    assert length_s(one) > length_s(case()) + 2.5


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
        "stock: net/http\nenvironment: {A: b}\nclients: {x: {kind: patched, api: y}}\ncoalesce_max: {x: 8192}\n"
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
    with Judge(joined_client(), [one], {}, clients=["onewrite"]) as judge:
        assert len(list(judge.results())) == 1
    assert asked[1] > closed[0]
