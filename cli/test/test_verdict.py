"""The doctor's findings from made-up samples: a few that a busy machine distorts change nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from onewrite_lab.probe import Exchange

from onewrite_cli.common.stalls import Controls
from onewrite_cli.doctor.measure import ARMS, QUICK, SPLIT, SPLIT_NODELAY, Samples
from onewrite_cli.doctor.verdict import cause_of, diagnose

MS = 1_000_000
CONTROL = Controls([43 * MS] * 8, [0] * 8)


def sample(total_ms: float, held_ms: float = 0.0, *, tail_ms: float = 0.0, status: int = 200) -> Exchange:
    held, ends = int(held_ms * MS), int(total_ms * MS)
    times = [ends - int(tail_ms * MS), ends]
    return Exchange(0, 0, held_ns=held, held_bytes=200 if held else 0, status=status, times_ns=times, min_rtt_us=100)


def samples(split: list[Exchange], others_ms: float = 0.2, nodelay: list[Exchange] | None = None) -> Samples:
    made = Samples()
    for arm in ARMS:
        made.taken[arm.key] = [sample(others_ms) for _ in range(10)]
    made.taken[SPLIT.key] = list(split)
    made.taken[SPLIT_NODELAY.key] = nodelay or made.taken[SPLIT_NODELAY.key]
    return made


def words(made: Samples, control: Controls = CONTROL) -> list[str]:
    return [one.word for one in diagnose(made, control).findings]


def test_held_bytes_expose() -> None:
    found = diagnose(samples([sample(44, 43.5)] * 10), CONTROL)
    assert (found.verdict, found.exit_status, found.ack_delay_ms) == ("EXPOSED", 1, 43.4)
    assert [(one.count, one.of) for one in found.findings] == [(10, 10)]


def test_without_a_control_that_stalls_nothing_is_told() -> None:
    for control in (Controls([], []), Controls([MS // 3] * 8, [0] * 8)):
        untold = diagnose(samples([sample(44, 43.5)] * 10), control)
        assert (untold.verdict, untold.exit_status) == ("unknown", 2)
        assert "no line between a stall and none" in untold.headline


def test_what_waits_in_part_is_a_finding_with_its_share() -> None:
    late, prompt = sample(44, 43.5), sample(0.4, 0.1)
    few = diagnose(samples([late] * 2 + [prompt] * 8), CONTROL)
    assert (few.verdict, few.exit_status) == ("safe", 0)
    part = diagnose(samples([late] * 4 + [prompt] * 6), CONTROL)
    assert (part.verdict, part.findings[0].count, part.findings[0].of) == ("EXPOSED", 4, 10)
    assert "in 4 of 10 requests" in part.headline


def with_statuses(split: int, whole: int) -> Samples:
    made = samples([sample(0.4)] * 10)
    for arm in ARMS:
        made.taken[arm.key] = [sample(0.4, status=split if arm.split else whole) for _ in range(10)]
    return made


def test_statuses_decide_before_times() -> None:
    assert words(with_statuses(400, 200)) == ["REFUSES SPLIT"]
    busy = with_statuses(200, 408)
    busy.taken[SPLIT.key][0].status = 408  # a server that read both pieces at once
    assert words(busy) == ["REFUSES WHOLE"]
    every = diagnose(with_statuses(400, 400), CONTROL)
    assert (every.verdict, "refused the requests" in every.headline) == ("unknown", True)


def test_a_large_second_piece_is_not_called_safe() -> None:
    """Nagle's algorithm holds no full segment."""
    found = diagnose(samples([sample(0.4)] * 10), CONTROL, too_large=True)
    assert (found.exit_status, "--post-bytes 200" in found.headline) == (2, True)


def test_other_causes_are_named() -> None:
    lost = replace(sample(210, 205), retransmits=1)
    full = replace(lost, rwnd_limited_ns=200 * MS)
    for one, cause in ((lost, "retransmit"), (full, "peer_window")):
        found = diagnose(samples([one] * 10), CONTROL)
        assert (found.verdict, cause in found.headline) == ("unknown", True)
        assert cause_of(one, SPLIT.key, found.line_ns) == cause


def test_a_slow_server_is_no_stall() -> None:
    assert words(samples([sample(300)] * 10, others_ms=300)) == []
    assert cause_of(sample(300), "one_write", 20 * MS) == "server"


def test_a_server_that_splits_its_answer_is_no_relay() -> None:
    """Only quick ACKs end its wait, one of which also came by chance."""
    made = samples([sample(44, tail_ms=43.5)] * 10)
    for arm in ("split_nodelay", "one_write"):
        made.taken[arm] = [sample(44, tail_ms=43.5)] * 9 + [sample(0.2)]
    assert words(made) == ["SPLIT ANSWER"]
    made.taken[QUICK.key] = made.taken["one_write"]
    assert words(made) == []


@pytest.mark.parametrize("more_ms", [7, 25, 43, 120, 210])
def test_a_delay_of_any_length_that_two_writes_alone_show_is_a_relays(more_ms: int) -> None:
    made = samples([sample(0.2 + more_ms)] * 10, nodelay=[sample(0.2 + more_ms)] * 10)
    found = diagnose(made, CONTROL)
    assert (found.verdict, found.exit_status) == ("RELAY", 1)
    assert f"wait {more_ms:.1f} ms" in found.headline
    assert ("a relay on the way has Nagle on" in found.findings[0].why) is (more_ms == 43)


def test_delays_of_many_lengths_are_a_busy_machines() -> None:
    made = samples([sample(44, 43.5)] * 10, nodelay=[sample(6 + 5 * number) for number in range(10)])
    assert words(made) == ["EXPOSED"]


def test_a_relay_comes_before_the_first_hop_because_its_cure_ends_both() -> None:
    assert words(samples([sample(88, 43.5)] * 10, nodelay=[sample(44)] * 10)) == ["RELAY", "EXPOSED"]


def test_a_difference_that_may_be_chance_is_not_called_safe() -> None:
    made = samples([sample(12)] * 10, nodelay=[sample(12)] * 10)
    made.taken["one_write"] = [sample(total_ms) for total_ms in (3.0, 3.0, 0.2, 6.0, 3.0, 9.0, 0.2, 6.0, 3.0, 0.2)]
    found = diagnose(made, CONTROL)
    assert (found.exit_status, "9.0 ms longer" in found.headline) == (2, True)


def test_samples_that_a_busy_machine_made_late_count_neither_way() -> None:
    late = [replace(sample(44), late_ns=40 * MS)] * 6
    assert words(samples([*late, *[sample(44, 43.5)] * 6])) == ["EXPOSED"]
    busy = diagnose(samples([*late, *[sample(44, 43.5)] * 4]), CONTROL)
    assert (busy.exit_status, "6 of 10" in busy.headline) == (2, True)
    between = diagnose(samples([sample(20)] * 10, nodelay=[replace(sample(20), late_ns=8 * MS)] * 10), CONTROL)
    assert (between.verdict, "in 10 of 10" in between.headline) == ("unknown", True)


def test_too_few_answers_are_unknown() -> None:
    assert diagnose(Samples(), CONTROL).exit_status == 2
