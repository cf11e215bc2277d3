"""The doctor's verdict on made-up samples: a few that a busy machine distorts change nothing."""

from __future__ import annotations

import dataclasses
import time

import pytest

from onewrite_cli.doctor.command import control_lines
from onewrite_cli.doctor.connection import ARMS
from onewrite_cli.doctor.measure import Sample, Samples, measure
from onewrite_cli.doctor.verdict import diagnose

MS = 1_000_000


def sample(arm: str, total_ms: float, held_ms: float = 0.0, *, retransmits: int = 0, rwnd_ms: float = 0.0) -> Sample:
    total = int(total_ms * MS)
    held = int(held_ms * MS)
    return Sample(arm, 200, total, total, 0, held, 200 if held else 0, retransmits, int(rwnd_ms * MS), 100, True)


def control(split: Sample) -> Samples:
    return Samples(taken=[split, sample("one_write", 0.2)] * 10)


CONTROL = control(sample("split_nagle", 43, 42.8))


def samples(split: list[Sample], others_ms: float = 0.2) -> Samples:
    made = Samples(taken=list(split))
    for arm in ARMS[1:]:
        made.taken += [sample(arm.key, others_ms) for _ in range(10)]
    made.answered.update(one.arm for one in made.taken)
    return made


def test_held_bytes_expose() -> None:
    found = diagnose(samples([sample("split_nagle", 44, 43.5)] * 10), CONTROL)
    assert (found.first_hop, found.exit_status) == ("EXPOSED", 1)
    assert found.ack_delay_ms == 43.4
    assert found.signs == []


def test_without_an_answered_control_nothing_is_told() -> None:
    untold = diagnose(samples([sample("split_nagle", 44, 43.5)] * 10), Samples())
    assert (untold.first_hop, untold.exit_status) == ("unknown", 2)
    assert untold.why == ["the control was not answered, so there is no line between a stall and none"]


def with_statuses(split: int, whole: int) -> Samples:
    made = samples([sample("split_nagle", 0.4)] * 10)
    made.taken = [dataclasses.replace(one, status=split if "split" in one.arm else whole) for one in made.taken]
    return made


def test_statuses_decide_before_times() -> None:
    pieces = diagnose(with_statuses(400, 200), CONTROL)
    assert (pieces.first_hop, pieces.exit_status) == ("REFUSES SPLIT", 1)
    busy = with_statuses(200, 408)
    busy.answered.update({arm.key: 20 for arm in ARMS})  # in the warm-up
    next(one for one in busy.taken if one.arm == "split_nagle").status = 408
    assert diagnose(busy, CONTROL).first_hop == "REFUSES WHOLE"
    every = diagnose(with_statuses(400, 400), CONTROL)
    assert (every.first_hop, every.exit_status) == ("unknown", 2)
    assert "refused the requests" in every.why[0]


def test_another_answer_to_one_write_differs() -> None:
    """Also where a server read both pieces at once now and then; not where its answers vary."""
    made = with_statuses(200, 204)
    joined = next(one for one in made.taken if one.arm == "split_nagle")
    joined.status = 204
    found = diagnose(made, CONTROL)
    assert (found.first_hop, found.exit_status) == ("DIFFERS", 1)
    joined.status = 202
    assert diagnose(made, CONTROL).first_hop != "DIFFERS"
    next(one for one in made.taken if one.arm == "one_write").status = joined.status = 200
    assert diagnose(made, CONTROL).first_hop != "DIFFERS"


def test_a_few_late_ones_do_not() -> None:
    split = [sample("split_nagle", 44, 43.5)] * 2 + [sample("split_nagle", 0.4, 0.1)] * 8
    found = diagnose(samples(split), CONTROL)
    assert (found.first_hop, found.exit_status) == ("safe", 0)


def test_neither_most_nor_few_is_unknown() -> None:
    split = [sample("split_nagle", 44, 43.5)] * 4 + [sample("split_nagle", 0.4, 0.1)] * 6
    found = diagnose(samples(split), CONTROL)
    assert (found.first_hop, found.exit_status) == ("unknown", 2)


def test_a_control_that_does_not_stall_makes_it_unknown() -> None:
    found = diagnose(samples([sample("split_nagle", 44, 43.5)] * 10), control(sample("split_nagle", 0.3)))
    assert (found.first_hop, found.exit_status) == ("unknown", 2)


def test_a_large_second_piece_is_not_called_safe() -> None:
    """Nagle's algorithm holds no full segment."""
    found = diagnose(samples([sample("split_nagle", 0.4)] * 10), CONTROL, too_large=True)
    assert (found.first_hop, found.exit_status) == ("unknown", 2)
    assert "--post-bytes 200" in found.headline


def test_other_causes_are_named() -> None:
    lost = diagnose(samples([sample("split_nagle", 210, 205, retransmits=1)] * 10), CONTROL)
    assert (lost.first_hop, lost.arms[0].cause) == ("unknown", "retransmit")
    full = diagnose(samples([sample("split_nagle", 210, 205, retransmits=1, rwnd_ms=200)] * 10), CONTROL)
    assert (full.first_hop, full.arms[0].cause) == ("unknown", "peer_window")


def test_a_slow_server_is_no_stall() -> None:
    slow = diagnose(samples([sample("split_nagle", 300)] * 10, others_ms=300), CONTROL)
    assert (slow.first_hop, slow.signs) == ("safe", [])
    assert slow.arms[2].cause == "server"


def test_a_steady_wait_as_long_as_a_delayed_ack_is_a_sign() -> None:
    found = diagnose(samples([sample("split_nagle", 44)] * 10, others_ms=44), CONTROL)
    assert found.exit_status == 0
    assert "perhaps a stall" in found.signs[0]


def test_a_server_that_splits_its_answer_is_no_relay() -> None:
    """Only quick ACKs end its wait, one of which also came by chance."""
    late = int(43.5 * MS)
    splits = samples([dataclasses.replace(sample("split_nagle", 44), wait=MS // 5, tail=late)] * 10)
    for arm in ("split_nodelay", "one_write"):
        splits.taken = [one for one in splits.taken if one.arm != arm]
        splits.taken += [dataclasses.replace(sample(arm, 44), wait=MS // 5, tail=late)] * 9 + [sample(arm, 0.2)]
    found = diagnose(splits, CONTROL)
    assert (found.first_hop, found.server_splits, len(found.signs)) == ("safe", True, 1)


def test_a_relay_that_holds_the_second_piece_exposes() -> None:
    made = samples([sample("split_nagle", 44)] * 10)
    made.taken = [sample("split_nodelay", 44) if one.arm == "split_nodelay" else one for one in made.taken]
    found = diagnose(made, CONTROL)
    assert found.first_hop == "EXPOSED"
    assert "a relay on the way" in found.signs[0]


def test_a_difference_that_may_be_chance_is_not_called_safe() -> None:
    made = samples([sample("split_nagle", 12)] * 10)
    vary = [3.0, 3.0, 0.2, 6.0, 3.0, 9.0, 0.2, 6.0, 3.0, 0.2]
    made.taken = [
        sample("split_nodelay", 12) if one.arm == "split_nodelay" else one for one in made.taken if one.arm != "one_write"
    ]
    made.taken += [sample("one_write", total_ms) for total_ms in vary]
    found = diagnose(made, CONTROL)
    assert (found.first_hop, found.exit_status) == ("unknown", 2)
    assert "9.0 ms longer" in found.headline


@pytest.mark.parametrize("more_ms", [7, 25, 120, 210])
def test_a_delay_of_any_length_that_two_writes_alone_show_exposes(more_ms: int) -> None:
    made = samples([sample("split_nagle", 0.2 + more_ms)] * 10)
    made.taken = [sample("split_nodelay", 0.2 + more_ms) if one.arm == "split_nodelay" else one for one in made.taken]
    found = diagnose(made, CONTROL)
    assert (found.first_hop, found.exit_status) == ("EXPOSED", 1)
    assert f"wait {more_ms:.1f} ms" in found.headline


def test_samples_that_a_busy_machine_made_late_count_neither_way() -> None:
    late = [dataclasses.replace(sample("split_nagle", 44), late=40 * MS)] * 6
    found = diagnose(samples([*late, *[sample("split_nagle", 44, 43.5)] * 6]), CONTROL)
    assert found.first_hop == "EXPOSED"
    found = diagnose(samples([*late, *[sample("split_nagle", 44, 43.5)] * 4]), CONTROL)
    assert (found.first_hop, found.exit_status) == ("unknown", 2)
    assert "6 of 10" in found.why[0]


def test_a_second_write_after_the_acknowledgement_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = time.sleep
    with control_lines() as (lines, samples):
        measure(lines[:1], 5, 10, lambda done: None)
        monkeypatch.setattr("onewrite_cli.doctor.measure.time.sleep", lambda seconds: sleep(seconds + 0.3))
        measure(lines[:1], 2, 10, lambda done: None)
    *_, first, second = samples.taken
    assert min(first.late, second.late) >= 300 * MS
    assert first.held == second.held == 0


def test_too_few_answers_are_unknown() -> None:
    assert diagnose(Samples(), CONTROL).exit_status == 2


def test_a_machine_that_is_busy_between_the_writes_makes_no_relay() -> None:
    made = samples([sample("split_nagle", 20)] * 10)
    for one in made.taken:
        if one.arm == "split_nodelay":
            one.total, one.late = 20 * MS, 8 * MS
    busy = diagnose(made, CONTROL)
    assert (busy.first_hop, busy.signs) == ("unknown", [])
    assert "too busy: in 10 of 10" in busy.why[0]
    for one in made.taken:
        one.late = 0
    assert diagnose(made, CONTROL).first_hop == "EXPOSED"
