"""The rules applied to made-up observations: odd cases that a busy machine produces."""

from __future__ import annotations

from onewrite_cli.check.findings import judge
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.common.holds import Hold
from onewrite_cli.common.outcome import Outcome, State

MS = 1_000_000


def seen(
    pieces: list[int],
    *,
    gap_ms: float = 0.0,
    held_ms: float | None = None,
    nodelay: bool | None = False,
    resent: int = 0,
) -> Seen:
    connection = SeenConnection("server", nodelay)
    controls = {"split_gaps_ns": [43 * MS] * 10, "single_gaps_ns": [0] * 10}
    made = Seen("a test", connections=[connection], resent_segments=resent, **controls)  # type: ignore[arg-type]
    for number, count in enumerate(pieces):
        held = None if held_ms is None else Hold(int(held_ms * MS), "nagle_delayed_ack" if held_ms else "")
        made.requests.append(
            SeenRequest(
                connection, "POST", f"/{number}", 90, 200, segments=count, nodelay=nodelay, gap_ns=int(gap_ms * MS), held=held
            )
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
    assert of("OW105", seen([2] * 20, gap_ms=43, held_ms=43)).state is State.FOUND
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


def test_one_late_request_never_decides_and_two_of_twenty_do() -> None:
    for late, state in ((1, State.OK), (2, State.FOUND)):
        made = seen([2] * 20, nodelay=None)
        for request in made.requests[:late]:
            request.gap_ns = 43 * MS
        assert of("OW105", made).state is state


def test_what_the_kernel_did_not_hold_is_the_clients_own_pause() -> None:
    own = of("OW105", seen([2] * 20, gap_ms=70, held_ms=0))
    assert own.state is State.OK
    assert "whose kernel held nothing: 20" in own.detail
    partly = of("OW105", seen([2] * 20, gap_ms=70, held_ms=5))
    assert partly.state is State.OK
    held = of("OW105", seen([2] * 20, gap_ms=70, held_ms=43))
    assert (held.state, held.cost_ms) == (State.FOUND, 43.0)
    assert "held by Nagle's algorithm" in held.detail
    in_one = of("OW105", seen([1] * 20, gap_ms=43))  # the server itself read late
    assert in_one.state is State.OK


def test_silences_that_were_not_read_decide_nothing() -> None:
    made = seen([2] * 20, gap_ms=70)
    assert of("OW105", made).state is State.INCONCLUSIVE
    for request in made.requests[:8]:
        request.held = Hold()
    assert of("OW105", made).state is State.OK
    for request in made.requests[:3]:
        request.held = Hold(43 * MS, "nagle_delayed_ack")
    assert of("OW105", made).state is State.FOUND


def test_what_a_cork_held_is_found_with_its_own_cure() -> None:
    made = seen([1] * 20, nodelay=True)
    for request in made.requests:
        request.held = Hold(200 * MS, "cork")
    found = of("OW105", made)
    assert (found.state, found.cost_ms) == (State.FOUND, 200.0)
    assert "MSG_MORE" in found.detail
    assert "MSG_MORE" in found.cure


def test_pieces_that_do_not_wait_show_that_the_option_was_on() -> None:
    assert of("OW102", seen([2] * 20)).state is State.OK
    assert of("OW102", seen([1] * 20)).state is State.FOUND
    assert of("OW102", seen([2] * 20, gap_ms=43, held_ms=43)).state is State.FOUND
    assert of("OW102", seen([2] * 20, gap_ms=70, held_ms=0)).state is State.FOUND  # the ACK came in its own pause


def test_losses_elsewhere_on_the_host_hide_no_stall() -> None:
    assert of("OW105", seen([2] * 20, gap_ms=43, held_ms=43, resent=1000)).state is State.FOUND


def test_the_delayed_ack_time_of_another_kernel_is_accepted() -> None:
    made = seen([2] * 20, gap_ms=190, held_ms=190)
    made.split_gaps_ns, made.single_gaps_ns = [200 * MS] * 10, [MS] * 10
    assert of("OW105", made).state is State.FOUND


def test_with_nodelay_on_a_pause_is_the_clients_own() -> None:
    outcome = of("OW105", seen([2] * 20, gap_ms=43, nodelay=True))
    assert outcome.state is State.OK
    assert "whose kernel held nothing: 20" in outcome.detail


def test_nothing_seen_is_skipped() -> None:
    empty = Seen("a test", split_gaps_ns=[43 * MS] * 10, single_gaps_ns=[0] * 10)
    assert {outcome.state for outcome in judge(empty)} == {State.SKIPPED}
    assert of("OW102", seen([1] * 20, nodelay=None)).state is State.SKIPPED
    blind = seen([1] * 20)
    blind.unseen["OW101"] = "not Linux"
    assert of("OW101", blind).state is State.SKIPPED
    assert of("OW101", blind).detail == "not Linux"
