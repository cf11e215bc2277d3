"""The rules applied to made-up observations: odd cases that a busy machine produces."""

from __future__ import annotations

from onewrite_cli.check.findings import judge
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.common.outcome import Outcome, State

MS = 1_000_000


def seen(pieces: list[int], *, gap_ms: float = 0.0, nodelay: bool | None = False, resent: int = 0) -> Seen:
    connection = SeenConnection("server", nodelay)
    controls = {"split_gaps_ns": [43 * MS] * 10, "single_gaps_ns": [0] * 10}
    made = Seen("a test", connections=[connection], resent_segments=resent, **controls)  # type: ignore[arg-type]
    for number, count in enumerate(pieces):
        made.requests.append(SeenRequest(connection, "POST", f"/{number}", 90, 200, count, None, int(gap_ms * MS)))
    return made


def of(rule: str, made: Seen) -> Outcome:
    return next(outcome for outcome in judge(made) if outcome.rule.id == rule)


def test_a_segment_sent_twice_by_the_kernel_is_no_finding() -> None:
    assert of("OW101", seen([1] * 19 + [2])).state is State.OK
    assert of("OW101", seen([1] * 16 + [2] * 4, resent=4)).state is State.OK
    assert of("OW101", seen([1] * 16 + [2] * 4)).state is State.FOUND
    assert of("OW101", seen([1] * 15 + [2] * 5, resent=1000)).state is State.FOUND  # losses of other connections
    assert of("OW101", seen([2] * 18 + [1] * 2)).state is State.FOUND


def test_a_stall_needs_the_control_of_the_same_run() -> None:
    assert of("OW105", seen([2] * 20, gap_ms=43)).state is State.FOUND
    assert of("OW105", seen([2] * 20, gap_ms=21)).state is State.OK
    calm = seen([2] * 20, gap_ms=43)
    calm.split_gaps_ns = [0] * 10
    assert of("OW105", calm).state is State.INCONCLUSIVE
    noisy = seen([2] * 20, gap_ms=43)
    noisy.single_gaps_ns = [0] * 5 + [40 * MS] * 5
    assert of("OW105", noisy).state is State.INCONCLUSIVE
    alone = seen([2] * 20, gap_ms=43)
    alone.split_gaps_ns = []
    assert of("OW105", alone).state is State.INCONCLUSIVE


def few_stalls(pieces: int) -> Seen:
    """Two of twenty requests come late, in so many pieces."""
    made = seen([1] * 18 + [pieces] * 2)
    for request in made.requests[-2:]:
        request.gap_ns = 43 * MS
    return made


def test_few_late_ones_are_found_when_they_are_those_in_pieces() -> None:
    found = of("OW105", few_stalls(2))
    assert (found.state, found.count, found.of) == (State.FOUND, 2, 20)
    chance = of("OW105", few_stalls(1))
    assert chance.state is State.OK
    assert "2 of 20 came as late" in chance.detail


def test_losses_elsewhere_on_the_host_hide_no_stall() -> None:
    assert of("OW105", seen([2] * 20, gap_ms=43, resent=1000)).state is State.FOUND


def test_the_delayed_ack_time_of_another_kernel_is_accepted() -> None:
    made = seen([2] * 20, gap_ms=190)
    made.split_gaps_ns, made.single_gaps_ns = [200 * MS] * 10, [MS] * 10
    assert of("OW105", made).state is State.FOUND


def test_with_nodelay_on_a_pause_is_the_clients_own() -> None:
    outcome = of("OW105", seen([2] * 20, gap_ms=43, nodelay=True))
    assert outcome.state is State.OK
    assert "20 were slow to write their body" in outcome.detail


def test_nothing_seen_is_skipped() -> None:
    empty = Seen("a test", split_gaps_ns=[43 * MS] * 10, single_gaps_ns=[0] * 10)
    assert {outcome.state for outcome in judge(empty)} == {State.SKIPPED}
    assert of("OW102", seen([1] * 20, nodelay=None)).state is State.SKIPPED
    blind = seen([1] * 20)
    blind.unseen["OW101"] = "not Linux"
    assert of("OW101", blind).state is State.SKIPPED
    assert of("OW101", blind).detail == "not Linux"
