"""The rules applied to made-up observations: odd cases that a busy machine produces."""

from __future__ import annotations

from onewrite_cli.check.findings import judge
from onewrite_cli.check.outcome import Outcome, State
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest, StallControl

MS = 1_000_000


def seen(pieces: list[int], *, gap_ms: float = 0.0, nodelay: bool | None = False, resent: int = 0) -> Seen:
    connection = SeenConnection(0, 0, "server", nodelay=nodelay, requests=len(pieces))
    control = StallControl([43 * MS] * 10, [0] * 10)
    made = Seen("a test", runs=1, connections=[connection], control=control, resent_segments=resent)
    for number, count in enumerate(pieces):
        at = number * 100 * MS
        made.requests.append(
            SeenRequest(connection, number, "POST", f"/{number}", 90, 200, count, None, int(gap_ms * MS), at, at + MS)
        )
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
    calm.control = StallControl([0] * 10, [0] * 10)
    assert of("OW105", calm).state is State.INCONCLUSIVE
    noisy = seen([2] * 20, gap_ms=43)
    noisy.control = StallControl([43 * MS] * 10, [0] * 5 + [40 * MS] * 5)
    assert of("OW105", noisy).state is State.INCONCLUSIVE
    alone = seen([2] * 20, gap_ms=43)
    alone.control = None
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


def test_a_new_connection_each_time_has_a_control_of_its_own() -> None:
    made = seen([2] * 20, gap_ms=0)
    for request in made.requests:
        request.nth = 0
    assert made.control is not None
    made.control.fresh_gaps_ns = [0] * 20
    assert of("OW105", made).state is State.INCONCLUSIVE
    made.control.fresh_gaps_ns = [43 * MS] * 20
    assert of("OW105", made).state is State.OK


def test_the_delayed_ack_time_of_another_kernel_is_accepted() -> None:
    made = seen([2] * 20, gap_ms=190)
    made.control = StallControl([200 * MS] * 10, [MS] * 10)
    assert of("OW105", made).state is State.FOUND


def test_with_nodelay_on_a_pause_is_the_clients_own() -> None:
    outcome = of("OW105", seen([2] * 20, gap_ms=43, nodelay=True))
    assert outcome.state is State.OK
    assert "20 were slow to write their body" in outcome.detail


def test_nothing_seen_is_skipped() -> None:
    empty = Seen("a test", control=StallControl([43 * MS] * 10, [0] * 10))
    assert {outcome.state for outcome in judge(empty)} == {State.SKIPPED}
    assert of("OW102", seen([1] * 20, nodelay=None)).state is State.SKIPPED
    blind = seen([1] * 20)
    blind.unseen["OW101"] = "not Linux"
    assert of("OW101", blind).state is State.SKIPPED
    assert of("OW101", blind).detail == "not Linux"


def bursts(times: int, fresh: bool) -> Seen:
    """Bursts of ten, each on ten connections: new ones, or those of the first burst."""
    made = seen([1] * 10 * times)
    made.connections = [SeenConnection(0, index, "server", requests=1 if fresh else times) for index in range(10 * times)]
    for number, request in enumerate(made.requests):
        begun = number // 10 * 100 * MS
        request.connection = made.connections[number if fresh else number % 10]
        request.connection.accepted_ns = begun + 1
        request.first_ns, request.answer_ns = begun + 2 * MS, begun + 3 * MS
    made.connections = [one for one in made.connections if any(request.connection is one for request in made.requests)]
    return made


def test_a_second_burst_needs_no_new_connections() -> None:
    assert of("OW104", bursts(1, fresh=True)).state is State.OK
    assert of("OW104", bursts(3, fresh=False)).state is State.OK
    found = of("OW104", bursts(2, fresh=True))
    assert (found.state, found.count, found.of) == (State.FOUND, 10, 20)
