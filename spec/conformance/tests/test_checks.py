"""Checks: invariants of records, counts and their mode, the examples of the text."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.http1 import RequestParser

from onewrite_conformance.checks.counts import judge_mode, sent_once
from onewrite_conformance.checks.same import FACETS, Play, comparable_bytes, differences, summary_of
from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.timing import (
    _event_problems,
    _shape_problems,
    _share_problems,
    _url_problems,
    bound_problems,
    cause_problems,
)
from onewrite_conformance.checks.verdict import Verdict, matches
from onewrite_conformance.checks.wire import example_problems


def whole(*names: str, at: int = 1000, **fields: Any) -> dict[str, Any]:
    """A record with these events, `at` ns apart, and the phases between them."""
    times = {name: at * (number + 1) for number, name in enumerate(names)}
    pairs = {"connect": ("connect_start", "connect_end"), "send": ("request_start", "request_end")}
    pairs |= {"wait": ("request_end", "response_start"), "receive": ("response_start", "response_end")}
    found = {
        f"{phase}_ns": times[last] - times[first]
        for phase, (first, last) in pairs.items()
        if {first, last} <= times.keys()
    }
    record = {
        "method": "GET",
        "outcome": "ok",
        "started_at_unix_ns": 1,
        "started_at_mono_ns": 0,
        "total_ns": at * (len(names) + 1),
    }
    return record | found | fields | {"events": [[name, times[name]] for name in names]}


def faults(record: dict[str, Any], *, early: bool = False) -> list[str]:
    fields = {name: value for name, value in record.items() if name != "events"}
    return [*_shape_problems(fields), *_event_problems(fields, record["events"], early)]


EXCHANGE = ("request_start", "request_end", "response_start", "headers_end", "response_end")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (whole(*EXCHANGE), None),
        (whole(), None),
        (whole("connect_start", "connect_end", *EXCHANGE, "connection_released"), None),
        (whole("request_end", "request_start"), "order of events.yaml"),
        (whole("request_start", "request_start"), "order of events.yaml"),
        (whole(*EXCHANGE) | {"total_ns": 2000}, "total_ns is 2000"),
        (whole(*EXCHANGE) | {"started_at_mono_ns": 9000}, "from started_at_mono_ns"),
        (whole(*EXCHANGE, at=10_000) | {"wait_ns": 1}, "wait_ns is 1, its events are 10000 ns apart"),
        (whole(*EXCHANGE, at=10_000) | {"wait_ns": None}, "the record has no wait_ns"),
        (whole(*EXCHANGE, tls_ns=5), "tls_ns = 5, yet tls_start did not happen"),
        (whole("connect_start", "connect_end", *EXCHANGE, reused=True), "the connection was reused"),
        (whole(*EXCHANGE, dns_ns=0), "does not fit its schema: dns_ns"),
        (whole(*EXCHANGE, url="http://a/b?c"), "does not fit its schema: url"),
        (whole(*EXCHANGE, attempts=[]), "does not fit its schema"),
        (whole(*EXCHANGE, outcome="error"), "yet error_kind is None"),
        (whole("request_start", "request_end", outcome="error", error_kind="timeout", error_phase="wait", at=10_000), "no wait_ns"),
        (whole("request_start", "request_end", outcome="error", error_kind="timeout", wait_ns=10_000, at=10_000), None),
        (whole("request_start", "request_end", outcome="ok", wait_ns=10_000, at=10_000), "response_start did not happen"),
    ],
)  # fmt: skip
def test_record_invariants(record: dict[str, Any], said: str | None) -> None:
    found = faults(record)
    assert (found == []) == (said is None), found
    assert said is None or any(said in one for one in found), found


def test_an_early_answer_may_overtake_the_end_of_sending() -> None:
    record = whole("request_start", "request_end", "response_start", "headers_end", "response_end", at=10_000)
    record["events"][1][1] = 55_000
    record |= {"send_ns": 45_000, "wait_ns": None, "total_ns": 60_000}
    assert faults(record, early=True) == []
    assert any("time goes back" in one for one in faults(record))


def test_the_time_before_the_first_request_of_a_session_is_no_part_of_the_total() -> None:
    record = whole("connect_start", "connect_end", *EXCHANGE, at=10_000)
    for each in record["events"][2:]:
        each[1] += 900_000
    assert faults(record) == []
    record["total_ns"] -= 30_000
    assert faults(record) != []


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
        return Sample({}, {"records": [{"wait_ns": milliseconds * 1_000_000}]}, [], True, 0)

    samples = [sample(30)] * inside + [sample(value)] * outside
    problems = list(bound_problems(samples, {"timing": {"bounds": {"wait": bounds}}}))
    assert len(problems) == (said is not None)
    assert all(said in problem for problem in problems if said)


@pytest.mark.parametrize(("others", "said"), [(2, False), (3, True), (8, True)])
def test_a_quarter_of_the_requests_may_have_another_cause(others: int, said: bool) -> None:
    def sample(cause: str | None) -> Sample:
        return Sample({}, {"records": [{"cause": cause}]}, [], True, 0)

    samples = [sample(None)] * others + [sample("nagle_delayed_ack")] * (8 - others)
    for cause in ("nagle_delayed_ack", ["nagle_delayed_ack", "server"]):
        assert bool(list(cause_problems(samples, {"timing": {"cause": cause}}))) == said


@pytest.mark.parametrize(
    ("cause", "wait_ms", "held_ms", "unread_ms", "right"),
    [
        (None, 19, 18, 0, True), ("nagle_delayed_ack", 19, 18, 0, False), ("server", None, None, None, False),
        ("server", 20, 9, 0, True), (None, 20, 9, 0, False), ("client", 20, 9, 0, False),
        ("nagle_delayed_ack", 20, 11, 0, True), (None, 20, 11, 0, True), ("server", 20, 11, 0, False),
        ("client", 200, 10, 150, True), ("server", 200, 10, 150, False), ("client", 200, 90, 100, True),
        ("server", 200, 0, 90, True), ("client", 200, 0, 100, True), (None, 200, None, None, True),
    ],
)  # fmt: skip
def test_the_largest_share_names_the_cause(
    cause: str | None, wait_ms: int | None, held_ms: int | None, unread_ms: int | None, right: bool
) -> None:
    def ns(milliseconds: int | None) -> int | None:
        return None if milliseconds is None else milliseconds * 1_000_000

    kernel = None if held_ms is None else {"send_hold_ns": ns(held_ms), "unread_ns": ns(unread_ms)}
    assert (not list(_share_problems({"cause": cause, "wait_ns": ns(wait_ms), "kernel": kernel}))) == right


def test_a_phase_that_has_bounds_is_there() -> None:
    sample = Sample({}, {"records": [{"method": "GET"}]}, [], True, 0)
    assert list(bound_problems([sample], {"timing": {"bounds": {"wait": {"max_ms": 1}}}}))


@pytest.mark.parametrize(
    ("given", "told", "right"),
    [
        ("http://h:81/a?b=c#d", "http://h:81/a", True), ("http://h:81/a", "http://h/a", False),
        ("http://h/a", "http://h:80/a", True), ("https://h/a", "https://h:80/a", False),
        ("http://u:p@h/a", "http://u:p@h/a", False), ("http://h/a", "http://h/a?b", False),
        ("http://h/\u00e4", "http://h/%E4", True), ("http://h", "http://h/", True), ("http://h/a", "http://h/b", False),
    ],
)  # fmt: skip
def test_the_url_of_a_record(given: str, told: str, right: bool) -> None:
    assert _is_right(told, {"url": given}) == right


@pytest.mark.parametrize(
    ("told", "right"),
    [("http://h/a", True), ("http://127.0.0.1:81/a", True), ("https://h/a", False), ("http://other/a", False)],
)
def test_the_url_of_a_request_with_its_own_host(told: str, right: bool) -> None:
    assert _is_right(told, {"url": "http://127.0.0.1:81/a", "headers": [["host", "h"]]}) == right


def _is_right(told: str, request: dict[str, Any]) -> bool:
    exchange = Exchange(0, Arrival(0, 0, 0, "direct"), 0, "direct")
    parser = RequestParser()
    parser.feed(b"GET " + (urlsplit(request["url"]).path or "/").encode("latin-1") + b" HTTP/1.1\r\n\r\n")
    exchange.request = parser.request
    return list(_url_problems({"url": told}, Sample(request, {}, [exchange], True, 0))) == []


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

    def compared(wire: bytes) -> bytes:
        parser = RequestParser()
        parser.feed(wire)
        assert parser.done
        return comparable_bytes(
            Exchange(0, Arrival(0, 0, 0, "direct"), 0, "direct", parser.request, complete=True), True
        )

    assert compared(request("abc")) == compared(request("abcdefgh"))
    assert compared(request("abc")) != compared(request("abc", "white"))
    assert compared(request("abc")) != compared(request("abc", "greenish"))


@pytest.mark.parametrize(("nodelay", "counted"), [(True, 3), (None, 3), (False, None)])
def test_what_nagles_algorithm_may_join_is_no_count_of_segments(nodelay: bool | None, counted: int | None) -> None:
    parser = RequestParser()
    parser.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    arrival = Arrival(0, 0, 0, "direct", nodelay=nodelay)
    exchange = Exchange(0, arrival, 0, "direct", parser.request, complete=True, segments=3)
    run: Any = None
    found = summary_of(Observation(run, [], [exchange], [arrival])).facets["no_more_segments"]
    assert found == {"message 0": counted}


def play(hooks: bool = False, **facets: Any) -> Play:
    return Play({name: {} for name in FACETS} | facets, {"request 0": "GET /"}, hooks)


def test_a_play_is_among_those_of_stock() -> None:
    one, other, third = (play(outcome={"request 0, outcome": f"error {name}"}) for name in "ABC")
    assert differences([one, other], [other, one], ["bytes", "outcome"]) == []
    (text,) = differences([one, third], [one, one, other], ["bytes", "outcome"], "mine")
    assert text.splitlines() == [
        "outcome: request 0, outcome, without hooks",
        "stock    'error A'",
        "stock    'error B'",
        "mine     'error C'",
        "request  GET /",
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
    assert text.splitlines()[:3] == ["no_more_segments: message 0, with hooks", "stock    2", "mine     3"]


@pytest.mark.parametrize(("ours", "same"), [(300.0, True), (549.0, True), (551.0, False), (None, True)])
def test_times_may_be_250_ms_apart(ours: float | None, same: bool) -> None:
    assert (not differences([play(took={"a": ours})], [play(took={"a": 300.0})], ["took"])) == same
