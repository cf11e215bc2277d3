"""Two revisions compared: what counts as slower, what does not, and a whole run with stand-in drivers."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onewrite_lab.servers.children import Children

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.engines.clients import Clients
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report import comparison
from onewrite_bench.run import compare
from onewrite_bench.run.compare import Revision
from onewrite_bench.run.execute import execute
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import regress
from onewrite_bench.verdict.results import Cell, Verdict
from onewrite_bench.verdict.rule import REGRESSIONS

ROUND = 50


def cell(role: str, us: float = 200, hiccups: float = 0.0, hiccup_us: int = 2_000, **fields: Any) -> Cell:
    """Twelve rounds around `us`, of which a share has hiccups."""
    chance = random.Random(role)
    made = Cell("python: onewrite", "python", role, role, "direct", stalls=False)
    made.latencies_us = [
        round(hiccup_us if chance.random() < hiccups else us * chance.uniform(0.9, 1.1)) for _ in range(12 * ROUND)
    ]
    made.segments = [[ROUND, ROUND]] * 12
    made.connections = made.connections_nodelay = 1
    made.extra = {"round": ROUND}
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def judged(head: Cell, base: Cell | None = None, again: Cell | None = None) -> Verdict:
    (line,) = regress.judge([head, base or cell("base"), again or cell("again")])
    return line


def test_no_change_and_a_gain_are_clean() -> None:
    assert judged(cell("head")).state == "clean"
    assert judged(cell("head", us=120)).state == "clean"
    assert judged(cell("head", us=230)).state == "clean", "within the margin"


def test_a_higher_average_and_p75_are_slower() -> None:
    line = judged(cell("head", us=320))
    assert line.state == "slower"
    assert line.text.startswith("average 1."), line.text
    assert regress.exit_status([line]) == 1


def test_a_few_slow_requests_that_move_the_average_alone_are_clean() -> None:
    line = judged(cell("head", hiccups=0.08))
    assert line.state == "clean"
    assert line.text.startswith("average 1."), line.text
    shifted = cell("head")
    quarter = [value * 1.6 if index % 10 < 3 else value * 0.8 for index, value in enumerate(shifted.latencies_us)]
    shifted.latencies_us = [round(value) for value in quarter]
    assert judged(shifted).state == "clean", "p75 alone"


def test_stalls_of_few_requests_are_counted() -> None:
    assert judged(cell("head", hiccups=0.2, hiccup_us=41_000)).state == "stalls"
    head, base, again = (cell(role, hiccups=0.2, hiccup_us=41_000) for role in ("head", "base", "again"))
    line = judged(head, base, again)
    assert (line.state, "too busy to tell" in line.text) == ("inconclusive", True)


def test_a_gross_slowdown_needs_two_rounds_and_no_second_measurement() -> None:
    head, base, again = (cell(role, us=us) for role, us in (("head", 2_000), ("base", 200), ("again", 220)))
    assert regress.gross((head, base, again))
    line = regress.judge((head, base, again))[0]
    assert (line.state, line.details["certain"]) == ("slower", True)
    for one in (head, base, again):
        one.latencies_us = one.latencies_us[: one.extra["round"]]
    assert not regress.gross((head, base, again)), "one round may be an accident"
    assert not regress.gross((cell("head", us=800), base, again))


def test_a_group_ends_when_its_rounds_say_enough(children: Children, tmp_path: Path) -> None:
    plan = compare.plan(
        scenario.load("per-call-cost"), *(Revision("here", REPOSITORY),) * 2, ["python"], rounds=5, requests=2
    )
    group = replace(
        plan.groups[0], clients=tuple(replace(one, language="raw", api=None) for one in plan.groups[0].clients)
    )
    plan = replace(plan, groups=(group,), parameters={**plan.parameters, "warmup_s": 0})
    places = Places(children, {}, tmp_path)
    cells: list[Cell] = []
    engine = PostEngine(
        plan, places, Console(quiet=True), Clients(places), False, lambda seen: bool(seen[0].latencies_us)
    )
    engine.run(plan.groups, cells.extend)
    assert [len(one.latencies_us) for one in cells] == [2, 2, 2]


def test_both_processes_of_the_base_must_be_quicker() -> None:
    assert judged(cell("head", us=260), cell("base", us=200), cell("again", us=230)).state == "clean"


def test_a_base_that_differs_from_itself_says_nothing() -> None:
    line = judged(cell("head", us=600), cell("base"), cell("again", us=300))
    assert line.state == "inconclusive"
    assert "too busy" in line.text
    assert regress.exit_status([line]) == 2


@pytest.mark.parametrize(
    ("fields", "state", "certain"),
    [
        ({"segments": [[2 * ROUND, ROUND]] * 12}, "splits", True),
        ({"connections_nodelay": 0}, "nodelay off", True),
        ({"errors": 3, "error_sample": "reset"}, "fails", False),
        ({"latencies_us": [], "errors": 3}, "fails", False),
    ],
)
def test_counted_faults_fail_whatever_the_times(fields: dict[str, Any], state: str, certain: bool) -> None:
    line = judged(cell("head", **fields))
    assert (line.state, bool(line.details["certain"])) == (state, certain)


def test_a_client_that_only_the_head_has_is_not_judged_and_one_it_lost_is() -> None:
    new = judged(cell("head"), cell("base", latencies_us=[], skipped="this driver has no api x"))
    assert (new.state, new.counts) == ("not run", False)
    lost = judged(cell("head", latencies_us=[], failed="driver exited"))
    assert (lost.state, lost.counts) == ("not run", True)
    assert regress.exit_status([new, judged(cell("head"))]) == 0
    assert regress.exit_status([lost, judged(cell("head"))]) == 2
    assert regress.exit_status([new]) == 2, "nothing was compared"


@pytest.mark.parametrize(
    ("before", "last", "settled"),
    [
        (["slower", "slower"], "slower", "slower"),
        (["slower", "stalls"], "slower", "slower"),
        (["slower", "inconclusive"], "slower", "inconclusive"),
        (["slower", "slower"], "clean", "clean"),
    ],
)
def test_a_failure_needs_measurements_that_agree(before: list[str], last: str, settled: str) -> None:
    line = Verdict("python", last, "x")
    regress.settle([line], {"python": before}, lambda: False)
    assert line.state == settled
    assert "measured 3 times" in line.text


def checkout(folder: Path, sabotage: str = "") -> Revision:
    """A checkout whose Python driver is the bare socket, after `sabotage`."""
    run = folder / "python" / "driver" / "run"
    run.parent.mkdir(parents=True)
    program = "runpy.run_module('onewrite_bench.engines.raw_driver', run_name='__main__')"
    run.write_text(f"#!{sys.executable}\nimport runpy, socket, time\n{sabotage}\n{program}\n")
    run.chmod(0o755)
    return Revision(folder.name, folder)


SLEEP = """
class Slow(socket.socket):
    def sendall(self, *arguments):
        time.sleep(0.002)
        return super().sendall(*arguments)
    def send(self, *arguments):
        time.sleep(0.002)
        return super().send(*arguments)
    def sendmsg(self, *arguments):
        time.sleep(0.002)
        return super().sendmsg(*arguments)
socket.socket = Slow
"""
SPLIT = """
class Split(socket.socket):
    def sendall(self, data, *arguments):
        super().sendall(bytes(data)[:20])
        super().sendall(bytes(data)[20:])
    def sendmsg(self, pieces, *arguments):
        whole = b"".join(pieces)
        self.sendall(whole)
        return len(whole)
socket.socket = Split
"""


@pytest.mark.timed
@pytest.mark.parametrize(("sabotage", "state"), [("", "clean"), (SLEEP, "slower"), (SPLIT, "splits")])
def test_a_whole_run(sabotage: str, state: str, tmp_path: Path) -> None:
    base, head = checkout(tmp_path / "base"), checkout(tmp_path / "head", sabotage)
    plan = compare.plan(scenario.load("per-call-cost"), base, head, ["python"], 4, 20)
    only = [group for group in plan.groups if group.name == "python: onewrite"]
    (group,) = only
    assert [client.role for client in group.clients] == ["head", "base", "again"]
    # The bare socket has no options of an adapter, and no compiler to warm up.
    clients = tuple(replace(client, api=None, options={}) for client in group.clients)
    plan = replace(plan, groups=(replace(group, clients=clients),), parameters={**plan.parameters, "warmup_s": 0})
    run = execute(plan, Console(quiet=True), "make compare", rule=REGRESSIONS)
    shown = comparison.text(run)
    assert [line.state for line in run.verdicts] == [state] or _busy(run.verdicts), shown
    assert "python: onewrite" in shown
    assert comparison.markdown(run).startswith("## head beside base\n\n| client |")


def _busy(verdicts: list[Verdict]) -> bool:
    """A busy machine may make a verdict about times inconclusive, never one about counts."""
    return [line.state for line in verdicts] == ["inconclusive"]


def test_every_client_that_is_onewrite_is_compared() -> None:
    here = Revision("here", REPOSITORY)
    names = [
        group.name
        for group in compare.plan(scenario.load("per-call-cost"), here, here, drivers.languages(), 1, 1).groups
    ]
    assert "python: urllib3 after install()" in names
    assert {name.split(":")[0] for name in names} == set(drivers.languages())
    assert not any("stock" in name or "bare" in name for name in names)


def test_a_revision_is_unpacked_once(tmp_path: Path) -> None:
    first = compare._revision("HEAD", tmp_path)
    assert (first.path / "VERSION").read_text() == (REPOSITORY / "VERSION").read_text()
    (first.path / "VERSION").write_text("kept")
    assert compare._revision("HEAD", tmp_path).path == first.path
    assert (first.path / "VERSION").read_text() == "kept"
    with pytest.raises(BenchError, match="knows no revision"):
        compare._revision("no-such-branch", tmp_path)
