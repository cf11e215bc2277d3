"""Every verdict is reached, each for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from onewrite_bench.engines.repeat import unclear
from onewrite_bench.report.write import text
from onewrite_bench.verdict.judge import exit_status, judge, settle
from onewrite_bench.verdict.results import Cell, Run, Verdict


def cell(role: str, latency_us: int = 300, **fields: Any) -> Cell:
    made = Cell("python", "python", role, role, "buffered", stalls=True)
    made.rounds_us = [[latency_us] * 20] * 5
    made.segments = [[20, 20]] * 5
    made.connections = 1
    for name, value in fields.items():
        setattr(made, name, value)
    return made


CONTROL: dict[str, Any] = {"latency_us": 44_000, "segments": [[40, 20]] * 5, "bare_connections": 1}
SPLIT: dict[str, Any] = {"segments": [[40, 20]] * 5}


def verdict(*cells: Cell) -> Verdict:
    """The verdict on these cells; a raw socket is added if they have no reference."""
    reference = [] if any(one.role == "reference" for one in cells) else [cell("reference")]
    (found,) = judge([*cells, *reference])
    return found


def state(*cells: Cell) -> tuple[str, int]:
    found = verdict(*cells)
    return found.state, exit_status([found])


def test_clean_when_the_control_stalls_and_the_adapter_does_not() -> None:
    assert state(cell("control", **CONTROL), cell("adapter")) == ("clean", 0)


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({"latency_us": 44_000}, ["stalls"]),
        ({"rounds_us": [[300] * 40 + [44_000] * 60]}, ["stalls"]),
        ({"bare_connections": 1}, ["nodelay off"]),
        (SPLIT, ["splits"]),
        ({"errors": 1, "error_sample": "reset"}, ["fails"]),
        ({"errors": 100, "rounds_us": []}, ["fails"]),
        ({"latency_us": 44_000, **SPLIT}, ["stalls", "splits"]),
    ],
)
def test_each_fault_is_named(fields: dict[str, Any], faults: list[str]) -> None:
    found = verdict(cell("control", **CONTROL), cell("adapter", **fields))
    assert (found.state, found.faults, exit_status([found])) == ("faulty", faults, 1)
    assert found.certain is ("splits" in faults or "nodelay off" in faults)


def test_only_times_are_called_stalls() -> None:
    run = Run("demo", "Title", "make demo", "2026-01-02T03:04:05Z", machine=dict.fromkeys(MACHINE, "1"))
    run.verdicts = [verdict(cell("control", **CONTROL), cell("adapter", **SPLIT))]
    assert "\npython: SPLITS: buffered: 2.00 segments per request" in text(run)


MACHINE = ("system", "kernel", "architecture", "cores", "load_average", "haproxy", "onewrite")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"segments": [[0, 20]] * 5, "connections": 0}, "no connection was kept: the kernel counted 0 segments of 100"),
        ({"segments": [[10, 20]] * 5}, "so keep-alive is broken"),
        ({"segments": [], "connections": 0}, "the kernel counted nothing"),
        ({"rounds_us": []}, "nothing was measured"),
    ],
)
@pytest.mark.parametrize("stalls", [True, False])
def test_nothing_seen_is_inconclusive(fields: dict[str, Any], words: str, stalls: bool) -> None:
    found = verdict(cell("control", **CONTROL), cell("adapter", stalls=stalls, **fields))
    assert (found.state, exit_status([found])) == ("inconclusive", 2)
    assert words in found.text


def test_on_fresh_connections_times_alone_are_judged() -> None:
    fresh: dict[str, Any] = {"fresh": True, "segments": [], "connections": 0}
    control = cell("control", 44_000, **fresh)
    assert state(control, cell("adapter", **fresh)) == ("clean", 0)
    assert state(control, cell("adapter", 44_000, **fresh)) == ("faulty", 1)


def test_a_handshake_is_no_stall() -> None:
    """The first of three requests has the handshake in it, so the line starts from the raw socket's first requests."""
    fresh: dict[str, Any] = {"fresh": True, "segments": [], "connections": 0}
    control = cell("control", rounds_us=[[48_000, 44_000, 44_000]] * 20, **fresh)
    reference = cell("reference", rounds_us=[[5_000, 300, 300]] * 20, **fresh)
    assert state(control, cell("adapter", rounds_us=[[20_000, 300, 300]] * 20, **fresh), reference) == ("clean", 0)
    late = cell("adapter", rounds_us=[[46_000, 300, 300]] * 20, **fresh)
    assert state(control, late, reference) == ("mixed", 2)


def test_a_client_is_clean_at_up_to_five_percent_late() -> None:
    rare, mixed = (cell("adapter", rounds_us=[[300] * (100 - late) + [44_000] * late]) for late in (5, 6))
    assert state(cell("control", **CONTROL), rare) == ("clean", 0)
    assert state(cell("control", **CONTROL), mixed) == ("inconclusive", 2)


def test_two_segments_fail_even_where_the_control_showed_nothing() -> None:
    assert state(cell("control"), cell("adapter", **SPLIT)) == ("faulty", 1)


def test_one_odd_round_does_not_decide() -> None:
    odd = [[20, 20], [20, 20], [40, 20], [40, 20], [20, 20]]
    assert state(cell("control", **CONTROL), cell("adapter", segments=odd)) == ("clean", 0)


def test_what_most_requests_took_decides() -> None:
    """On a busy machine an event loop may take a body's pieces in two turns, now and then."""
    few, most = [[23, 20], [26, 20], [24, 20], [28, 20], [20, 20]], [[31, 20], [40, 20], [30, 20], [33, 20], [28, 20]]
    assert state(cell("control", **CONTROL), cell("adapter", segments=few)) == ("clean", 0)
    assert state(cell("control", **CONTROL), cell("adapter", segments=most)) == ("faulty", 1)


def test_more_segments_are_right_where_the_scenario_says_so() -> None:
    control = cell("control", **CONTROL)
    assert state(control, cell("adapter", most_segments=2, **SPLIT)) == ("clean", 0)
    assert state(control, cell("adapter", most_segments=None, **SPLIT)) == ("clean", 0)


def test_a_target_that_fails_for_a_raw_socket_too_is_inconclusive() -> None:
    failing: dict[str, Any] = {"errors": 20, "error_sample": "status 503"}
    found = verdict(cell("control", **CONTROL, **failing), cell("adapter", **failing), cell("reference", **failing))
    assert found.state == "inconclusive"
    assert found.text == "buffered: the target fails, for a raw socket too (status 503)"


@pytest.mark.parametrize("service_us", [50_000, 300_000])
def test_a_slow_target_is_judged_by_the_time_above_its_own(service_us: int) -> None:
    reference = cell("reference", service_us)
    control = cell("control", **{**CONTROL, "latency_us": service_us + 41_000})
    assert state(control, cell("adapter", service_us + 300), reference) == ("clean", 0)
    assert state(control, cell("adapter", service_us + 41_000), reference) == ("faulty", 1)


@pytest.mark.parametrize(
    ("control", "reference", "words"),
    [
        ({"latency_us": 300}, {}, "the control stalled in 0% of its requests only"),
        ({**CONTROL, "missing": "driver exited"}, {}, "no control (driver exited)"),
        (CONTROL, {"rounds_us": [[300] * 94 + [50_000] * 6]}, "the machine is too busy"),
        (CONTROL, {"rounds_us": []}, "no raw socket beside it"),
    ],
)
def test_inconclusive_without_a_contrast(control: dict[str, Any], reference: dict[str, Any], words: str) -> None:
    found = verdict(cell("control", **control), cell("adapter"), cell("reference", **reference))
    assert found.state == "inconclusive"
    assert words in found.text


def test_not_run_is_not_clean() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", missing="no driver")) == ("not run", 3)


@pytest.mark.parametrize(
    ("earlier", "last", "expected", "status"),
    [
        (["faulty", "faulty"], "faulty", "faulty", 1),
        ([], "faulty", "faulty", 1),
        (["faulty", "inconclusive"], "faulty", "inconclusive", 2),
        (["faulty", "faulty"], "clean", "clean", 0),
        (["inconclusive"], "inconclusive", "inconclusive", 2),
        ([], "mixed", "mixed", 2),
        (["mixed", "mixed"], "mixed", "faulty", 1),
        (["mixed"], "faulty", "faulty", 1),
        (["mixed", "inconclusive"], "mixed", "inconclusive", 2),
        (["mixed", "mixed"], "clean", "clean", 0),
    ],
)
def test_a_fault_needs_every_measurement_to_agree(earlier: list[str], last: str, expected: str, status: int) -> None:
    verdicts = [Verdict("python", last, "why")]
    settle(verdicts, {"python": earlier})
    assert (verdicts[0].state, exit_status(verdicts)) == (expected, status)


def test_a_share_that_is_mixed_each_time_is_named() -> None:
    mixed = cell("adapter", rounds_us=[[300] * 42 + [44_000] * 58])
    (found,) = judge([cell("control", **CONTROL), mixed, cell("reference")])
    settle([found], {"python": ["mixed", "mixed"]})
    assert (found.state, found.faults) == ("faulty", ["mixed"])
    assert "58% of its requests were late (measured 3 times: mixed, mixed, mixed)" in found.text


def test_a_few_late_requests_stay_inconclusive() -> None:
    """A busy machine makes a tenth late beside a raw socket that is clean."""
    few = cell("adapter", rounds_us=[[300] * 90 + [44_000] * 10])
    assert state(cell("control", **CONTROL), few) == ("inconclusive", 2)


def test_where_no_stall_is_expected_an_adapter_may_not_stall_either() -> None:
    quiet: dict[str, Any] = {"stalls": False}
    slow = cell("adapter", 44_000, **quiet)
    assert state(cell("control", **CONTROL, **quiet), slow, cell("reference", **quiet)) == ("faulty", 1)
    assert state(cell("control", **quiet), slow, cell("reference", **quiet)) == ("faulty", 1)
    assert state(cell("control", **quiet), cell("adapter", **quiet), cell("reference", **quiet)) == ("clean", 0)


def test_nothing_ran_has_a_status_of_its_own() -> None:
    ran, missing = Verdict("ruby", "clean", ""), Verdict("node", "not run", "there is no node")
    assert exit_status([missing]) == 3
    assert exit_status([ran, missing]) == 2


def test_a_group_that_is_not_required_cannot_make_a_run_inconclusive_but_can_fail_it() -> None:
    required = [cell("control", **CONTROL), cell("adapter"), cell("reference")]
    other: dict[str, Any] = {"group": "proxy", "required": False}
    beside = cell("reference", **other)
    quiet = [cell("control", **other), cell("adapter", **other), beside]
    assert exit_status(judge([*required, *quiet])) == 0
    bad = [cell("control", **CONTROL, **other), cell("adapter", latency_us=44_000, **other), beside]
    assert exit_status(judge([*required, *bad])) == 1


def test_nothing_measured_is_not_a_pass() -> None:
    assert exit_status([]) == 2


def test_a_driver_that_broke_down_is_measured_again() -> None:
    assert unclear(Verdict("ruby", "not run", "driver hung: no reply to load within 30 s"))
    assert not unclear(Verdict("ruby", "not run", "no ruby/driver/run"))
    assert not unclear(Verdict("ruby", "faulty", "2.00 segments", certain=True))
