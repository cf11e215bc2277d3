"""Every verdict is reached, each for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from onewrite_bench.report.wording import verdict_line
from onewrite_bench.verdict.judge import exit_status, judge
from onewrite_bench.verdict.results import Cell, Verdict
from onewrite_bench.verdict.settle import settle


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
    assert state(cell("control", **CONTROL), cell("adapter", segments=[[40, 20]] * 5)) == ("splits", 1)


def test_two_segments_fail_even_where_the_control_showed_nothing() -> None:
    assert state(cell("control"), cell("adapter", segments=[[40, 20]] * 5)) == ("splits", 1)


@pytest.mark.parametrize("control", [{"errors": 100}, {"failed": "driver crashed"}])
def test_a_failure_that_the_languages_own_control_shares_is_the_targets(control: dict[str, Any]) -> None:
    """As with a private authority: the bare socket trusts it, the language does not."""
    unknown = {"unknown": True}
    fails = cell("adapter", latencies_us=[], errors=100, error_sample="unknown CA", extra=unknown)
    good = cell("good", extra=unknown)
    own = cell("control", extra=unknown, latencies_us=[], **control)
    assert state(own, fails, good) == ("inconclusive", 2)
    assert state(cell("control", extra=unknown, **CONTROL), fails, good) == ("fails", 1)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"latency_us": 44_000}, "STALLS"),
        ({"connections_nodelay": 0}, "TCP_NODELAY is off"),
        ({"segments": [[40, 20]] * 5}, "SPLITS"),
        ({"errors": 1}, "FAILS"),
        ({"latency_us": 44_000, "segments": [[40, 20]] * 5}, "STALLS, SPLITS"),
    ],
)
def test_only_times_are_called_stalls(fields: dict[str, Any], word: str) -> None:
    verdicts = judge([cell("control", **CONTROL), cell("adapter", **fields)])
    settle(verdicts, {}, lambda: False)
    assert verdict_line(verdicts[0]).startswith(f"python: {word}: ")


def test_a_target_that_fails_for_a_bare_socket_too_is_inconclusive() -> None:
    failing: dict[str, Any] = {"errors": 20, "error_sample": "status 503"}
    good = cell("good", client="raw socket", language="raw", beside=True, **failing)
    everybody = [cell("control", **{**CONTROL, **failing}), cell("adapter", **failing), good]
    verdicts = judge(everybody)
    assert (verdicts[0].state, exit_status(verdicts)) == ("inconclusive", 2)
    assert verdicts[0].text == "buffered: the target fails, for a bare socket too (status 503)"
    good.errors = 0
    assert [verdict.state for verdict in judge(everybody)] == ["fails"]


@pytest.mark.parametrize("service_us", [50_000, 300_000])
def test_a_slow_target_is_judged_by_the_time_above_its_own(service_us: int) -> None:
    """The target takes 50 or 300 ms, so all clients are over 30 ms; the control alone takes another 40."""
    unknown: dict[str, Any] = {"extra": {"unknown": True}}
    good = cell("good", client="raw socket", language="raw", beside=True, latency_us=service_us, **unknown)
    control = cell("control", **{**CONTROL, **unknown, "latency_us": service_us + 41_000})
    assert [v.state for v in judge([control, cell("adapter", latency_us=service_us + 300, **unknown), good])] == [
        "clean"
    ]
    stalling = cell("adapter", latency_us=service_us + 41_000, **unknown)
    assert [v.state for v in judge([control, stalling, good])] == ["stalls"]
    harmless = cell("control", **{**CONTROL, **unknown, "latency_us": service_us + 500})
    quiet = judge([harmless, cell("adapter", latency_us=service_us + 300, **unknown), good])
    assert (quiet[0].state, quiet[0].text) == ("clean", "nobody stalls at buffered, not even the control")


def test_one_odd_round_does_not_decide() -> None:
    odd = [[20, 20], [20, 20], [21, 20], [20, 20], [20, 20]]
    assert state(cell("control", **CONTROL), cell("adapter", segments=odd)) == ("clean", 0)


def test_a_connection_without_nodelay_fails() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", connections_nodelay=0)) == ("nodelay off", 1)


def test_failed_requests_fail() -> None:
    assert state(cell("control", **CONTROL), cell("adapter", errors=1, error_sample="reset")) == ("fails", 1)


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
    settle(verdicts, {"python": ["slow", "stalls"]}, lambda: busy)
    assert (verdicts[0].state, exit_status(verdicts)) == expected


def test_slow_is_inconclusive_when_the_good_control_was_slow_too() -> None:
    adapter = cell("adapter")
    adapter.latencies_us = [12_000] * 100
    good = cell("good", client="raw socket", language="raw", beside=True, latency_us=9_000)
    verdicts = judge([cell("control", **CONTROL), adapter, good])
    settle(verdicts, {}, lambda: False)
    assert (verdicts[0].state, exit_status(verdicts)) == ("inconclusive", 2)


def test_the_good_control_of_the_same_group_counts_before_the_one_beside_it() -> None:
    noisy = cell("good", group="raw", language="raw")
    noisy.latencies_us = [300] * 60 + [50_000] * 40
    own = cell("good", client="raw socket", language="raw", beside=True)
    assert [verdict.state for verdict in judge([noisy, cell("control", **CONTROL), cell("adapter"), own])] == ["clean"]


@pytest.mark.parametrize(
    ("earlier", "last", "expected", "status"),
    [
        (["stalls", "stalls"], "stalls", "stalls", 1),
        ([], "stalls", "stalls", 1),
        (["stalls", "inconclusive"], "stalls", "inconclusive", 2),
        (["stalls", "stalls"], "clean", "clean", 0),
        (["inconclusive", "slow"], "slow", "inconclusive", 2),
        (["inconclusive", "inconclusive"], "inconclusive", "inconclusive", 2),
        (["stalls"], "not run", "not run", 2),
    ],
)
def test_a_failure_needs_every_measurement_to_agree(earlier: list[str], last: str, expected: str, status: int) -> None:
    verdicts = [Verdict("python", last, "why", True, {"group": "python", "calm": True})]
    settle(verdicts, {"python": earlier}, lambda: False)
    assert (verdicts[0].state, exit_status(verdicts)) == (expected, status)


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


def test_every_request_failed_is_a_failure_and_not_a_crash() -> None:
    broken = cell("adapter", errors=100, error_sample="ArgumentError")
    broken.latencies_us = []
    verdicts = judge([cell("control", **CONTROL), broken])
    assert (verdicts[0].state, exit_status(verdicts)) == ("fails", 1)
    assert "100 requests failed (ArgumentError)" in verdicts[0].text


def test_nothing_measured_is_inconclusive() -> None:
    empty = cell("adapter")
    empty.latencies_us = []
    assert state(cell("control", **CONTROL), empty) == ("inconclusive", 2)


def test_nothing_measured_where_nothing_stalls_is_inconclusive_too() -> None:
    empty = cell("adapter", target="direct", stalls=False)
    empty.latencies_us = []
    empty.segments = []
    assert state(empty) == ("inconclusive", 2)


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
    assert state(cell("control", **CONTROL), cell("adapter"), plain) == ("splits", 1)


def test_nothing_measured_is_not_a_pass() -> None:
    assert exit_status([]) == 2
