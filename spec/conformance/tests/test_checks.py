"""Checks: sequences and invariants of events, counts and their mode, the examples of the text."""

from __future__ import annotations

from typing import Any

import pytest
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.http1 import RequestParser

from onewrite_conformance.checks.counts import judge_mode, sent_once
from onewrite_conformance.checks.same import FACETS, Play, differences, even, shown
from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.timing import (
    _cause_problems,
    _event_invariants,
    _phase_event_problems,
    bound_problems,
    cause_problems,
    sequence_problem,
)
from onewrite_conformance.checks.verdict import Verdict, matches
from onewrite_conformance.checks.wire import example_problems


def events(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "t_ns": at + 1, "attempt": 0} for at, name in enumerate(names)]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        (["call_start", "*", "call_end"], True),
        (["call_start", "attempt_start", "attempt_end", "call_end"], True),
        (["call_start", "dns_start?", "attempt_start", "attempt_end", "call_end"], True),
        (["call_start", "attempt_start", "call_end"], False),
        (["*", {"name": "call_end", "attempt": 0}], True),
        (["*", {"name": "call_end", "attempt": 1}], False),
        (["*", {"name": "call_end", "t_ns": "$any"}], True),
        (["call_start"], False),
    ],
)
def test_sequences(pattern: list[Any], fits: bool) -> None:
    happened = events("call_start", "attempt_start", "attempt_end", "call_end")
    assert (sequence_problem(happened, pattern) is None) == fits


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["attempt_start", "call_start", "attempt_end", "call_end"], "first event"),
        (["call_start", "attempt_start", "attempt_end"], "0 times"),
        (["call_start", "attempt_start", "call_end", "attempt_end"], "last event"),
        (["call_start", "attempt_start", "tls_start", "attempt_end", "call_end"], "1 tls_start but 0 tls_end"),
        (["call_start", "attempt_start", "request_end", "request_start", "attempt_end", "call_end"], "came after"),
        (["call_start", "attempt_start", "request_start", "request_start", "attempt_end", "call_end"], "2 times"),
    ],
)
def test_event_invariants(names: list[str], said: str) -> None:
    assert any(said in problem for problem in _event_invariants(events(*names), early=False))


def test_time_goes_forward() -> None:
    happened = events("call_start", "attempt_start", "attempt_end", "call_end")
    assert list(_event_invariants(happened, early=False)) == []
    happened[2]["t_ns"] = 1
    assert any("time goes back" in problem for problem in _event_invariants(happened, early=False))


def test_counts() -> None:
    assert matches(1, 1)
    assert matches(2, [1, 2])
    assert matches(2, {"max": 2})
    assert not matches(3, {"max": 2})
    assert not matches(None, {"min": 0})


@pytest.mark.parametrize(
    ("values", "excuse", "said"),
    [
        ([1] * 20, 0, None), ([1] * 19 + [None], 0, None), ([1] * 19 + [2], 1, None), ([1] * 16 + [2] * 4, 4, None),
        ([1] * 16 + [2] * 4, 900, None), ([2] * 20, 0, "segments: 2, not 1"), ([1] * 19 + [2], 0, "mode 1"),
        ([1] * 15 + [2] * 5, 900, "mode 1"), ([1] * 3 + [2], 900, "mode 1"),
    ],
)  # fmt: skip
def test_the_mode_decides_and_retransmissions_excuse_at_most_a_fifth(
    values: list[int | None], excuse: int, said: str | None
) -> None:
    verdict = Verdict()
    judge_mode("segments", values, 1, verdict, excuse=excuse)
    assert len(verdict.problems) == (said is not None)
    assert all(said in problem for problem in verdict.problems if said)


def test_what_could_not_be_counted_is_a_doubt() -> None:
    verdict = Verdict()
    judge_mode("segments", [None, None], 1, verdict)
    assert verdict.doubts


@pytest.mark.parametrize(
    ("segments", "twice", "wanted", "counted"),
    [
        (3, 0, 3, 3), (4, 1, 3, 3), (4, 0, 3, 4), (5, 1, 3, 5), (2, 1, 1, 1), (3, 1, {"min": 2, "max": 3}, 3),
        (3, 2, 3, 3), (2, 5, 3, 2), (None, 1, 1, None), (1, 3, 0, 0),
    ],
)  # fmt: skip
def test_segments_that_the_client_sent_twice_are_taken_off(
    segments: int | None, twice: int, wanted: Any, counted: int | None
) -> None:
    assert sent_once(segments, twice, wanted) == counted


@pytest.mark.parametrize(
    ("inside", "outside", "said"),
    [(20, 0, None), (15, 5, None), (14, 6, "in 6 of 20"), (3, 0, None), (2, 1, "in 1 of 3"), (0, 1, "in 1 of 1")],
)
@pytest.mark.parametrize(("bounds", "value"), [({"min_ms": 30}, 20), ({"max_ms": 30}, 40)])
def test_a_quarter_of_the_requests_may_be_out_of_bounds(
    inside: int, outside: int, said: str | None, bounds: dict[str, int], value: int
) -> None:
    def sample(milliseconds: int) -> Sample:
        return Sample({}, {"timing": {"attempts": [{"wait_ns": milliseconds * 1_000_000}]}}, [], True, 0)

    samples = [sample(30)] * inside + [sample(value)] * outside
    problems = list(bound_problems(samples, {"timing": {"bounds": {"wait": bounds}}}))
    assert len(problems) == (said is not None)
    assert all(said in problem for problem in problems if said)


@pytest.mark.parametrize(("others", "said"), [(2, False), (3, True), (8, True)])
def test_a_quarter_of_the_requests_may_have_another_cause(others: int, said: bool) -> None:
    def sample(cause: str | None) -> Sample:
        return Sample({}, {"timing": {"attempts": [{"cause": cause}]}}, [], True, 0)

    samples = [sample(None)] * others + [sample("nagle_delayed_ack")] * (8 - others)
    for cause in ("nagle_delayed_ack", ["nagle_delayed_ack", "server"]):
        assert bool(list(cause_problems(samples, {"timing": {"cause": cause}}))) == said


@pytest.mark.parametrize(
    ("cause", "wait_ms", "hold_ms", "right"),
    [
        (None, 19, 18, True), ("nagle_delayed_ack", 19, 18, False), ("server", None, None, False),
        ("server", 20, 19, True), (None, 20, 19, False), ("retransmit", 20, 19, False),
        ("nagle_delayed_ack", 20, 20, True), (None, 20, 20, True), ("server", 20, 20, False),
        (None, 200, None, True),
    ],
)  # fmt: skip
def test_a_cause_fits_the_numbers_of_its_attempt(
    cause: str | None, wait_ms: int | None, hold_ms: int | None, right: bool
) -> None:
    attempt = {
        "cause": cause,
        "wait_ns": None if wait_ms is None else wait_ms * 1_000_000,
        "kernel": None if hold_ms is None else {"send_hold_ns": hold_ms * 1_000_000},
    }
    assert (not list(_cause_problems(attempt))) == right


def test_a_phase_that_has_bounds_is_there() -> None:
    sample = Sample({}, {"timing": {"attempts": [{}]}}, [], True, 0)
    assert list(bound_problems([sample], {"timing": {"bounds": {"wait": {"max_ms": 1}}}}))


def test_a_request_counts_without_the_segments_that_were_sent_twice() -> None:
    def exchange(segments: int | None, twice: int) -> Exchange:
        return Exchange(0, Arrival(0, 0, 0, "direct"), 0, "direct", segments=segments, sent_twice=twice)

    assert [exchange(*counts).segments_once for counts in ((4, 1), (3, 0), (None, 1))] == [3, 3, None]


EXAMPLE = "POST /a HTTP/1.1\nHost: {authority}\nContent-Type: m; boundary={boundary}\n\n--{boundary}\n{x*3}{any}\n--{boundary}--"
SENT = b"POST /a HTTP/1.1\r\nX: y\r\nContent-Type: m; boundary=b1\r\nHost: h:1\r\nContent-Length: 24\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "faults"), [(b"--b1\r\nxxx anything\r\n--b1--", 0), (b"--b2\r\nxxx anything\r\n--b2--", 1), (b"", 1)]
)
def test_examples(body: bytes, faults: int) -> None:
    exchange = Exchange(0, Arrival(0, 1, 2, "direct"), 0, "direct")
    parser = RequestParser()
    parser.feed(SENT.replace(b"24", str(len(body)).encode()) + body)
    exchange.request = parser.request
    assert len(list(example_problems(exchange, EXAMPLE, {"authority": "h:1"}))) == faults


@pytest.mark.parametrize("chunked", [True, False])
def test_multipart_requests_are_compared_without_their_boundaries(chunked: bool) -> None:
    def request(boundary: str, value: str = "green") -> bytes:
        part = f'--{boundary}\r\ncontent-disposition: form-data; name="tea"\r\n\r\n{value}\r\n--{boundary}--\r\n'
        framing = "transfer-encoding: chunked" if chunked else f"Content-Length: {len(part)}"
        body = f"{len(part):x}\r\n{part}\r\n0\r\n\r\n" if chunked else part
        head = f"POST / HTTP/1.1\r\nhost: localhost:1234\r\ncontent-type: multipart/form-data; boundary={boundary}"
        return f"{head}\r\n{framing}\r\n\r\n{body}".encode()

    def evened(wire: bytes) -> bytes:
        parser = RequestParser()
        parser.feed(wire)
        assert parser.done
        return even(Exchange(0, Arrival(0, 0, 0, "direct"), 0, "direct", parser.request, complete=True), True)

    assert evened(request("abc")) == evened(request("abcdefgh"))
    assert evened(request("abc")) != evened(request("abc", "white"))
    assert evened(request("abc")) != evened(request("abc", "greenish"))


@pytest.mark.parametrize(("wire", "kept"), [(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", True), (b"0\r\n\r\n", False)])
def test_the_position_of_a_body_behind_a_request_astray_is_chance(wire: bytes, kept: bool) -> None:
    parser = RequestParser()
    parser.feed(wire)
    exchange = Exchange(0, Arrival(0, 0, 0, "direct"), 0, "direct", parser.request, complete=True)
    reply = {"outcome": "cancelled", "objects": {"body_position": 7, "body_closed": False}}
    run: Any = None
    found = shown(Observation(run, [Sample({}, reply, [], False, 0)], [exchange], [exchange.arrival])).facets["objects"]
    assert ("request 0, body_position" in found) is kept
    assert "request 0, body_closed" in found


@pytest.mark.parametrize(("nodelay", "counted"), [(True, 3), (None, 3), (False, None)])
def test_what_nagles_algorithm_may_join_is_no_count_of_segments(nodelay: bool | None, counted: int | None) -> None:
    parser = RequestParser()
    parser.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    arrival = Arrival(0, 0, 0, "direct", nodelay=nodelay)
    exchange = Exchange(0, arrival, 0, "direct", parser.request, complete=True, segments=3)
    run: Any = None
    found = shown(Observation(run, [], [exchange], [arrival])).facets["no_more_segments"]
    assert found == {"message 0": counted}


def play(hooks: bool = False, **facets: Any) -> Play:
    return Play({name: {} for name in FACETS} | facets, {"request 0": "GET /"}, hooks)


def test_a_play_is_among_those_of_stock() -> None:
    one, other, third = (play(outcome={"request 0, outcome": f"error {name}"}) for name in "ABC")
    assert differences([one, other], [other, one], ["bytes", "outcome"]) == []
    (text,) = differences([one, third], [one, one], ["bytes", "outcome"], "mine")
    assert text.splitlines() == [
        "outcome: request 0, outcome, in 1 of 2 plays, without hooks",
        "stock    'error A'",
        "mine     'error C'",
        " " * 16 + "^",
        "request  GET /",
    ]
    (text,) = differences([one, third], [one, one, other], ["bytes", "outcome"], "mine")
    assert text.splitlines()[1:4] == [
        "stock    'error A' in 2 of 3 plays",
        "stock    'error B' in 1 of 3 plays",
        "mine     'error C'",
    ]
    assert differences(
        [play(bytes={"message 0": b"a", "message 1": b"b"})], [play(bytes={"message 0": b"a"})], ["bytes"]
    )


@pytest.mark.parametrize(("ours", "most"), [(1, 2), (2, 2), (None, 2), (3, None)])
def test_fewer_segments_are_no_difference(ours: int | None, most: int | None) -> None:
    one, other = (play(no_more_segments={"message 0": count}) for count in (ours, most))
    assert differences([one], [other], ["no_more_segments"]) == []
    more = play(no_more_segments={"message 0": 3}, hooks=True)
    (text,) = differences([more], [play(no_more_segments={"message 0": 2})], ["no_more_segments"], "mine")
    assert text.splitlines() == [
        "no_more_segments: message 0, in 1 of 1 plays, with hooks", "stock    2 segments", "mine     3 segments"
    ]  # fmt: skip


@pytest.mark.parametrize(("ours", "same"), [(300.0, True), (549.0, True), (551.0, False), (None, True)])
def test_times_may_be_250_ms_apart(ours: float | None, same: bool) -> None:
    assert (not differences([play(took={"a": ours})], [play(took={"a": 300.0})], ["took"])) == same


def test_a_phase_that_failed_lasts_until_the_end() -> None:
    happened = events("request_start", "request_end", "attempt_end")
    for wait_ns, problems in ((None, 0), (1, 0), (5000, 1)):
        assert len(list(_phase_event_problems({"send_ns": 1, "wait_ns": wait_ns}, happened))) == problems
