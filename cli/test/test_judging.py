"""The rules applied to made-up observations: odd cases that a busy machine produces."""

from __future__ import annotations

from onewrite_cli.check.findings import judge
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.common.outcome import Outcome, State, apply_severities, read_severities
from onewrite_cli.common.sockets import Hold
from onewrite_cli.common.stalls import Controls

MS = 1_000_000
STALLED = Hold(43 * MS, "nagle_delayed_ack")


def controls(split_ms: int = 43, whole: list[int] | None = None) -> Controls:
    return Controls([split_ms * MS] * 10, whole or [0] * 10)


def seen(
    pieces: list[int],
    *,
    gap_ms: float = 0.0,
    held_ms: float | None = None,
    nodelay: bool | None = False,
    body: int = 200,
    resent: int = 0,
) -> Seen:
    connection = SeenConnection("server", nodelay)
    made = Seen("a test", controls(), connections=[connection], resent_segments=resent)
    for number, count in enumerate(pieces):
        held = None if held_ms is None else Hold(int(held_ms * MS), "nagle_delayed_ack" if held_ms else "")
        times = {"segments": count, "nodelay": nodelay, "gap_ns": int(gap_ms * MS), "held": held}
        made.requests.append(SeenRequest(connection, "POST", f"/{number}", 90, body, **times))  # type: ignore[arg-type]
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
    made = seen([2] * 20, gap_ms=43, held_ms=43)
    assert of("OW105", made).state is State.FOUND
    assert of("OW105", seen([2] * 20, gap_ms=21, held_ms=21)).state is State.OK
    for bad in (controls(0), controls(whole=[0] * 5 + [40 * MS] * 5), Controls([], [])):
        made.controls = bad
        assert of("OW105", made).state is State.INCONCLUSIVE
    made.controls = Controls([200 * MS] * 10, [MS] * 10)  # another kernel's delayed ACK
    assert of("OW105", made).state is State.OK


def test_the_share_is_among_requests_with_a_body() -> None:
    """A login that stalls among GETs, which have no second piece, is not rare."""
    for posts, state in ((1, State.INCONCLUSIVE), (2, State.FOUND)):
        made = seen([1] * 18, body=0)
        late = seen([2] * posts, gap_ms=43, held_ms=43)
        made.requests += late.requests
        found = of("OW105", made)
        assert (found.state, found.of, found.unit) == (state, posts, "requests with a body")
        assert of("OW101", made).state is State.FOUND


def test_one_late_request_of_a_few_is_inconclusive_and_of_twenty_chance() -> None:
    for of_, late, state in ((20, 1, State.OK), (20, 2, State.FOUND), (19, 1, State.INCONCLUSIVE), (1, 1, State.INCONCLUSIVE)):
        made = seen([2] * of_, held_ms=0)
        for request in made.requests[:late]:
            request.gap_ns, request.held = 43 * MS, STALLED
        assert of("OW105", made).state is state, (of_, late)


def test_what_stalls_in_part_is_found_with_its_share() -> None:
    made = seen([2] * 20, held_ms=0)
    for request in made.requests[:8]:
        request.gap_ns, request.held = 43 * MS, STALLED
    found = of("OW105", made)
    assert (found.state, found.count, found.of) == (State.FOUND, 8, 20)


def test_large_bodies_are_judged_for_stalls_alone() -> None:
    made = seen([2] * 20, gap_ms=43, held_ms=43, body=30_000)
    assert (of("OW101", made).state, of("OW105", made).state) == (State.SKIPPED, State.FOUND)
    for request in made.requests:
        request.held = Hold(43 * MS, "peer_window")  # the receiver was slow
    assert of("OW105", made).state is State.OK


def test_what_the_kernel_did_not_hold_is_the_clients_own_pause() -> None:
    own = of("OW105", seen([2] * 20, gap_ms=70, held_ms=0))
    assert own.state is State.OK
    assert "paused between the pieces of 20" in own.detail
    assert of("OW105", seen([2] * 20, gap_ms=70, held_ms=5)).state is State.OK
    held = of("OW105", seen([2] * 20, gap_ms=70, held_ms=43))
    assert (held.state, held.cost_ms) == (State.FOUND, 43.0)
    assert "held by Nagle's algorithm" in held.detail
    assert of("OW105", seen([1] * 20, gap_ms=43)).state is State.OK  # the server itself read late
    assert of("OW105", seen([2] * 20, gap_ms=43, nodelay=True)).state is State.OK


def test_silences_that_were_not_read_decide_nothing() -> None:
    made = seen([2] * 20, gap_ms=70)
    assert of("OW105", made).state is State.INCONCLUSIVE
    for request in made.requests[:8]:
        request.held = Hold()
    assert of("OW105", made).state is State.OK
    rare = seen([2] * 20, held_ms=0)
    rare.requests[0].gap_ns, rare.requests[0].held = 43 * MS, None
    assert of("OW105", rare).state is State.OK  # one late request of 20 is no finding either
    rare.requests.pop()
    assert of("OW105", rare).state is State.INCONCLUSIVE
    for request in made.requests[:3]:
        request.held = STALLED
    found = of("OW105", made)
    assert (found.state, found.count, found.of) == (State.FOUND, 3, 8)
    assert "12 more silences could not be read" in found.detail


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


def test_what_only_the_tools_own_proxy_shows_fails_nothing() -> None:
    made = seen([2] * 20, gap_ms=43, held_ms=43)
    made.connections[0].own_proxy = True
    outcomes = judge(made)
    apply_severities(outcomes, read_severities([], strict=True))
    states = {one.rule.id: one.state for one in outcomes}
    assert (states["OW102"], states["OW105"]) == (State.WARNED, State.INCONCLUSIVE)
    assert "write {url}" in next(one.detail for one in outcomes if one.rule.id == "OW105")


def test_nothing_seen_is_skipped() -> None:
    empty = Seen("a test", controls())
    assert {outcome.state for outcome in judge(empty)} == {State.SKIPPED}
    assert of("OW102", seen([1] * 20, nodelay=None)).state is State.SKIPPED
    blind = seen([1] * 20)
    blind.unseen["OW101"] = "not Linux"
    assert (of("OW101", blind).state, of("OW101", blind).detail) == (State.SKIPPED, "not Linux")
