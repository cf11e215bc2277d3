"""The verdict must be able to say each of its words, and for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from onewrite_bench.results import Cell
from onewrite_bench.verdict import exit_status, judge, settle


def cell(role: str, latency_us: int = 300, **fields: Any) -> Cell:
    made = Cell("python", "python", role, role, "buffered", stalls=True)
    made.latencies_us = [latency_us] * 100
    made.segments = [[20, 20]] * 5
    made.connections = made.connections_nodelay = 1
    for name, value in fields.items():
        setattr(made, name, value)
    return made


CONTROL: dict[str, Any] = {"latency_us": 44_000, "segments": [[40, 20]] * 5, "connections_nodelay": 0}


def state(*cells: Cell) -> tuple[str, int]:
    verdicts = judge(cells)
    assert len(verdicts) == 1
    return verdicts[0].state, exit_status(verdicts)


def test_clean_when_the_control_stalls_and_the_adapter_does_not() -> None:
    assert state(cell("control", **CONTROL), cell("adapter")) == ("clean", 0)


def test_a_stalling_adapter_fails() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", latency_us=44_000)) == ("stalls", 1)


def test_two_segments_fail_however_fast() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", segments=[[40, 20]] * 5)) == ("stalls", 1)


def test_two_segments_fail_even_where_the_control_showed_nothing() -> None:
    assert state(cell("control"), cell("adapter", segments=[[40, 20]] * 5)) == ("stalls", 1)


def test_one_odd_round_does_not_decide() -> None:
    odd = [[20, 20], [20, 20], [21, 20], [20, 20], [20, 20]]
    assert state(cell("control", **CONTROL), cell("adapter", segments=odd)) == ("clean", 0)


def test_a_connection_without_nodelay_fails() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", connections_nodelay=0)) == ("stalls", 1)


def test_failed_requests_fail() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", errors=1, error_sample="reset")) == ("stalls", 1)


@pytest.mark.parametrize(("busy", "expected"), [(False, ("stalls", 1)), (True, ("inconclusive", 2))])
@pytest.mark.parametrize("slow", [[12_000] * 100, [300] * 75 + [40_000] * 25])
def test_slow_without_a_clear_stall_depends_on_the_machine(
    slow: list[int], busy: bool, expected: tuple[str, int]
) -> None:
    adapter = cell("adapter")
    adapter.latencies_us = slow
    good = cell("good", group="raw", language="raw")
    verdicts = judge([good, cell("control", **CONTROL), adapter])
    assert [verdict.state for verdict in verdicts] == ["slow"]
    settle(verdicts, busy)
    assert (verdicts[0].state, exit_status(verdicts)) == expected


def test_a_loss_on_large_bodies_is_seen() -> None:
    large = {"target": "large", "stalls": False, "extra": {"no_loss_ratio": 2.0, "one_segment": False}}
    stock = cell("shown", latency_us=1000, **large, client="stock")
    slower = cell("adapter", latency_us=2100, **large)
    assert [verdict.state for verdict in judge([stock, slower])] == ["slow"]
    as_fast = cell("adapter", latency_us=1900, **large)
    assert [verdict.state for verdict in judge([stock, as_fast])] == ["clean"]


def test_many_stalls_fail_on_any_machine() -> None:
    adapter = cell("adapter")
    adapter.latencies_us = [300] * 60 + [44_000] * 40
    good = cell("good", group="raw", language="raw")
    assert [verdict.state for verdict in judge([good, cell("control", **CONTROL), adapter])] == ["stalls"]


@pytest.mark.parametrize("control", [{"latency_us": 300}, {**CONTROL, "failed": "driver exited"}])
def test_inconclusive_without_a_stalling_control(control: dict[str, Any]) -> None:
    assert state(cell("control", **control), cell("adapter")) == ("inconclusive", 2)


def test_inconclusive_when_even_a_raw_client_is_slow() -> None:
    noisy = cell("good", group="raw", language="raw")
    noisy.latencies_us = [300] * 60 + [50_000] * 40
    verdicts = judge([noisy, cell("control", **CONTROL), cell("adapter")])
    assert [verdict.state for verdict in verdicts] == ["inconclusive"]


def test_not_run_is_not_clean() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", skipped="no driver")) == ("not run", 2)


def test_a_group_that_is_not_required_cannot_make_a_run_inconclusive_but_can_fail_it() -> None:
    required = [cell("control", **CONTROL), cell("adapter")]
    other: dict[str, Any] = {"group": "proxy", "required": False}
    quiet = [cell("control", **other), cell("adapter", **other)]
    assert exit_status(judge([*required, *quiet])) == 0
    bad = [cell("control", **{**CONTROL, **other}), cell("adapter", latency_us=44_000, **other)]
    assert exit_status(judge([*required, *bad])) == 1


def test_a_target_that_does_not_stall_needs_no_control_but_one_segment() -> None:
    plain = cell("adapter", target="default", stalls=False)
    assert state(cell("control", **CONTROL), cell("adapter"), plain) == ("clean", 0)
    plain.segments = [[40, 20]]
    assert state(cell("control", **CONTROL), cell("adapter"), plain) == ("stalls", 1)


def test_nothing_measured_is_not_a_pass() -> None:
    assert exit_status([]) == 2
