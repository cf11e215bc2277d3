"""Each thing that can be broken in a client is seen: a mutant changes a recorded good run, and its case fails.

The three that prove the tap, end to end, are in test_broken_clients.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from onewrite_conformance.checks.outcome import judge
from onewrite_conformance.checks.same import differences, summary_of
from onewrite_conformance.checks.seen import Observation
from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from recording import recorded, unpacked


class Mutant(NamedTuple):
    broken: str
    path: str
    change: Callable[[Observation], None]
    said: str


# -- what a mutant does to a run -----------------------------------------------------------------------------


def exchanges(**values: Any) -> Callable[[Observation], None]:
    """Other values in each request that arrived."""

    def change(seen: Observation) -> None:
        for exchange in seen.exchanges:
            for name, value in values.items():
                setattr(exchange, name, value)

    return change


def arrivals(**values: Any) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for arrival in seen.arrivals:
            for name, value in values.items():
                setattr(arrival, name, value)

    return change


def reply(**values: Any) -> Callable[[Observation], None]:
    """Other values in the last reply of the driver."""
    return lambda seen: seen.samples[-1].reply.update(values)


def record(**values: Any) -> Callable[[Observation], None]:
    """Other values in the last record of each call; a value that is a function gets the old one."""

    def change(seen: Observation) -> None:
        for sample in seen.samples:
            told: Any = sample.reply["records"][-1]
            for name, value in values.items():
                told[name] = value(told.get(name)) if callable(value) else value

    return change


def records(change: Callable[[list[Any]], list[Any]]) -> Callable[[Observation], None]:
    """Other records of each call."""

    def changed(seen: Observation) -> None:
        for sample in seen.samples:
            sample.reply["records"] = change(sample.reply["records"])

    return changed


def event(name: str, change: Callable[[int], int]) -> Callable[[Observation], None]:
    """Another time of the events of this name."""
    return records(
        lambda told: [
            one | {"events": [[each, change(int(at)) if each == name else at] for each, at in one["events"]]}
            for one in told
        ]
    )


def also(name: str, after: str) -> Callable[[Observation], None]:
    """One event more, at the time of the one before."""

    def change(told: list[Any]) -> list[Any]:
        for one in told:
            at = next(at for at, (each, _) in enumerate(one["events"]) if each == after)
            one["events"].insert(at + 1, [name, one["events"][at][1]])
        return told

    return records(change)


def swapped(first: str, second: str) -> Callable[[Observation], None]:
    """Two events in each other's place."""
    other = {first: second, second: first}
    return records(
        lambda told: [one | {"events": [[other.get(each, each), at] for each, at in one["events"]]} for one in told]
    )


def error(**values: Any) -> Callable[[Observation], None]:
    """Another error of the last call."""
    return lambda seen: seen.samples[-1].reply["error"].update(values)


def set_to(**values: Any) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for name, value in values.items():
            setattr(seen, name, value)

    return change


def recorded_anyway(seen: Observation) -> None:
    seen.samples[-1].reply["records"] = [{"method": "POST", "outcome": "ok", "total_ns": 1, "started_at_mono_ns": 1}]


def mixed_records(seen: Observation) -> None:
    one, other = seen.samples[-1].reply, seen.samples[-3].reply
    one["records"], other["records"] = other["records"], one["records"]


def one_connection_more(seen: Observation) -> None:
    """The last request came on a connection that no other used."""
    last = seen.exchanges[-1]
    last.arrival = type(last.arrival)(len(seen.arrivals), 1, 1, last.via, nodelay=True)
    seen.arrivals.append(last.arrival)


def sent_again(seen: Observation) -> None:
    seen.exchanges.append(seen.exchanges[-1])


def kept_open(seen: Observation) -> None:
    for exchange in seen.exchanges:
        exchange.arrival = seen.arrivals[0]
    seen.arrivals[1:] = []


def other_bytes(seen: Observation) -> None:
    request = seen.exchanges[-1].request
    request.head = request.head.replace(b"Host:", b"host:")


def other_target(seen: Observation) -> None:
    for arrival in seen.arrivals:
        arrival.tunnel = arrival.tunnel.replace(b"CONNECT 127.0.0.1", b"CONNECT elsewhere.example")


def late_answer(seen: Observation) -> None:
    """The answer to the call before, on its connection."""
    seen.samples[-1].reply["body_sha256"] = seen.samples[0].reply["body_sha256"].replace("a", "b")


def split(seen: Observation) -> None:
    for exchange in seen.exchanges:
        exchange.first_piece = exchange.request.head
        exchange.segments = 2


def later(name: str) -> Callable[[Any], Any]:
    return lambda old: int(old) + 5_000_000


P, H = "onewrite/http/direct", "onewrite/https/direct"
HOUR = 3_600_000_000_000
MUTANTS = [
    Mutant("TCP_NODELAY is never set", f"tcp/1/nodelay-fresh-connections/{P}", arrivals(nodelay=False), "TCP_NODELAY is off"),
    Mutant("TCP_NODELAY is set after the handshake", f"tcp/1/nodelay-tls-12/{H}", arrivals(nodelay_at_hello=False), "off at the ClientHello"),
    Mutant("the user's options are not set", f"tcp/3/options-keepalive-only/{P}", arrivals(client_options={"SO_KEEPALIVE": 0}), "SO_KEEPALIVE"),
    Mutant("TCP_NODELAY is set although the user said 0", f"tcp/3/options-nodelay-off-obeyed/{P}", arrivals(nodelay=True), "TCP_NODELAY is on"),
    Mutant("a chunk waits for the next one", f"wire/9/stream-chunked-gap/{P}", exchanges(segments=2), "segments: 2"),
    Mutant("head and body leave in two writes", f"wire/1/post-200b/{P}", split, "segments: 2, not 1"),
    Mutant("the first bytes are the head alone", f"wire/4/post-100kb/{P}", split, "the head alone"),
    Mutant("a request has two records", f"wire/1/example-1/{H}", exchanges(records=2), "TLS records: 2"),
    Mutant("the first record is not filled", f"wire/4/boundary-above/{H}", exchanges(first_record_bytes=1000), "bytes in the first record: 1000"),
    Mutant("a file has more segments than with stock", f"wire/7/file/{P}", exchanges(segments=4), "no_more_segments: message 0"),
    Mutant("a chunk's size line leaves alone", f"wire/10/stream-chunked-many/{H}", exchanges(records=22), "TLS records: 22"),
    Mutant("an empty body makes a second write", f"wire/1/post-empty-bytes/{P}", record(writes=2), "writes of the record is 2"),
    Mutant("the body does not wait for 100", f"wire/12/expect-continue-late/{P}", lambda seen: exchanges(first_piece=seen.exchanges[0].request.wire)(seen), "head and body"),
    Mutant("a byte of a header is another one", f"same/1/plain/{P}", other_bytes, "bytes: message 10"),
    Mutant("CONNECT names another authority", "same/1/tunnel/onewrite/https/connect", other_target, "bytes: CONNECT 0"),
    Mutant("a POST is sent again", f"same/3/read-and-closed-post/{P}", sent_again, "bytes: message"),
    Mutant("a connection that should close is used again", f"same/3/connection-close/{P}", kept_open, "connections: message 1"),
    Mutant("another connection is used", f"same/1/plain/{P}", one_connection_more, "connections: message 10"),
    Mutant("an error has another class", f"same/2/refused/{P}", error(type="OnewriteError"), "outcome: request 1, outcome"),
    Mutant("an error has another message", f"same/2/refused/{P}", error(message="by onewrite"), "message: request 1"),
    Mutant("a late answer reaches the next caller", f"same/3/unsolicited-answer/{P}", late_answer, "outcome: request 1, body"),
    Mutant("an answer differs", f"same/3/unsolicited-answer/{P}", reply(status=299), "outcome: request 1, status"),
    Mutant("a time limit ends nothing", f"same/5/wait-timeout/{P}", reply(elapsed_us=900_000), "took: request 1"),
    Mutant("requests leave in more segments than with stock", f"same/1/plain/{P}", exchanges(segments=3), "no_more_segments: message 0"),
    Mutant("disabled, hooks are called", f"same/6/off-hooks/{P}", recorded_anyway, "1 timing records arrived, not 0"),
    Mutant("a connection that was given up is used again", f"same/7/timed-out/{P}", lambda seen: setattr(seen.exchanges[-1], "nth_on_connection", 2), "used before"),
    Mutant("nothing is delivered", f"time/1/concurrent/{P}", records(lambda told: []), "0 timing records arrived"),
    Mutant("a request gets the record of another", f"time/1/concurrent/{P}", mixed_records, "the record's url is"),
    Mutant("a request has two timing records", f"time/9/fresh-post/{P}", records(lambda told: told * 2), "2 timing records arrived, not 1"),
    Mutant("a failed request has two timing records", f"time/21/reset-mid-body/{P}", records(lambda told: told * 2), "some of them twice"),
    Mutant("a redirect has no record", f"time/1/redirect/{P}", records(lambda told: told[-1:]), "1 timing records arrived, not 2"),
    Mutant("phases are summed over requests", f"time/1/redirect/{P}", record(wait_ns=lambda old: old + 700_000_000), "wait took"),
    Mutant("connection_acquired comes late", f"time/9/fresh-post/{P}", swapped("connection_acquired", "request_start"), "not in the order of events.yaml"),
    Mutant("an event comes twice", f"time/9/fresh-post/{P}", also("request_start", "request_start"), "not in the order of events.yaml"),
    Mutant("times go back", f"time/5/anchor/{P}", event("response_end", lambda old: old - HOUR), "time goes back"),
    Mutant("the wall clock is an hour off", f"time/5/anchor/{P}", record(started_at_unix_ns=lambda old: int(old) - HOUR), "started_at_unix_ns is 36"),
    Mutant("response_start is before the server", f"time/5/wait/{P}", event("response_start", lambda old: old - 190_000_000), "before the tap began to answer"),
    Mutant("a phase that did not happen is 0", f"time/7/reused-phases/{P}", record(dns_ns=0), "does not fit its schema: dns_ns"),
    Mutant("a reused connection has a connect phase", f"time/7/reused-phases/{P}", record(connect_ns=1000), "yet the record has connect"),
    Mutant("a total ends before its last event", f"time/9/fresh-post/{P}", record(total_ns=lambda old: old - 1_000_000), "ns from started_at_mono_ns, total_ns is"),
    Mutant("a phase is longer than its events are apart", f"time/9/fresh-post/{P}", record(wait_ns=lambda old: old + 50_000), "its events are"),
    Mutant("response_start is the end of the response", f"time/9/receive-split/{P}", record(receive_ns=1000), "receive took"),
    Mutant("a 1xx answer ends the wait", f"time/9/interim/{P}", record(wait_ns=1000), "wait took"),
    Mutant("request_start is early", "time/9/tunnel-slow-proxy/onewrite/https/connect", record(connect_ns=1000), "connect took"),
    Mutant("waiting for a connection is no phase", f"time/9/queue/{P}", record(queue_ns=None), "the phase queue is absent"),
    Mutant("the bytes of a request lack one", f"time/12/record-fields/{P}", record(bytes_sent=lambda old: old - 1), "bytes_sent is"),
    Mutant("a body that is given up has a response_end", f"time/15/unread-body/{P}", also("response_end", "headers_end"), "the event response_end happened"),
    Mutant("announced bytes are received bytes", f"time/21/reset-mid-body/{P}", record(bytes_received=5000), "bytes_received is 5000"),
    Mutant("every connection has one request", f"time/19/conn-requests/{P}", record(conn_requests=1), "conn_requests of the record is 1"),
    Mutant("every connection has one request, where nobody asks", f"time/7/reused-phases/{P}", record(conn_requests=1), "the request is number 2"),
    Mutant("a connection is idle since it was made", f"time/19/conn-requests/{P}", record(idle_ns=HOUR), "idle_ns is"),
    Mutant("all connections have one conn_id", f"time/19/not-reusable/{P}", record(conn_id=1), "conn_ids"),
    Mutant("a failed request has no kind", f"time/21/refused/{P}", record(error_kind=None), "yet error_kind is None"),
    Mutant("a failed request is ok", f"time/21/refused/{P}", record(outcome="ok"), "the record's outcome is ok"),
    Mutant("a body that is cut off is ok", f"time/21/cut-short/{P}", record(outcome="ok"), "the record's outcome is ok"),
    Mutant("the phase that failed is absent", f"time/21/timeout-wait/{P}", record(wait_ns=None), "the phase wait is absent"),
    Mutant("a cancelled request is an error", f"time/22/cancel-wait/{P}", record(outcome="error"), "the record's outcome is error"),
    Mutant("a hook that raises breaks the request", f"time/23/raising-hooks/{P}", reply(outcome="error", error={"kind": "other"}), "outcome is error"),
    Mutant("every wait is blamed on Nagle", f"time/26/cause-server/{P}", record(cause="nagle_delayed_ack"), "nagle_delayed_ack"),
    Mutant("the server is blamed for an answer that lay unread", f"time/26/cause-client/{P}", record(cause="server"), "server, not client"),
    Mutant("an answer that lay unread is no evidence", f"time/26/cause-client/{P}", record(kernel=lambda old: old | {"unread_ns": 0}), "its shares are"),
    Mutant("evidence counts since the connection was made", f"time/26/evidence-after-loss/{P}", record(kernel=lambda old: old and old | {"segments_out": 9}), "segments_out by the kernel's evidence: 9"),
    Mutant("a record holds a signature", f"sec/17/query/{P}", record(url=lambda old: f"{old}?sig=letmein"), "holds 'letmein'"),
    Mutant("a record holds a query, where nobody asks", f"time/5/anchor/{P}", record(url=lambda old: f"{old}?a=b"), "does not match"),
    Mutant("a bad value is ignored without a warning", f"cfg/5/bad-words/{P}", set_to(warnings={"ONEWRITE_DISABLED": 0}), "warn of ONEWRITE_DISABLED"),
    Mutant("1 is no true word", f"cfg/3/true-one/{P}", recorded_anyway, "1 timing records arrived, not 0"),
    Mutant("observing, requests are joined", f"cfg/15/observe/{P}", exchanges(segments=7), "segments: usually"),
    Mutant("an adapter that is installed splits", "api/1/installed/patched/http/direct", split, "segments: 2"),
    Mutant("the hook of the process gets nothing", "api/1/installed/patched/http/direct", records(lambda told: []), "0 timing records arrived"),
]  # fmt: skip

Contract = tuple[list[Case], dict[str, Requirement]]


@pytest.fixture(scope="module")
def runs(contract: Contract) -> dict[str, tuple[str, Case]]:
    return recorded(contract[0])


def problems(ours: Observation, stock: Observation) -> list[str]:
    case = ours.run.case
    found = judge(ours).problems if case.expect or not case.same else []
    facets = [*case.same, "message", "no_more_segments"] if case.same else []
    return found + differences([summary_of(ours, case.ignore)], [summary_of(stock, case.ignore)], facets)


@pytest.mark.parametrize("path", sorted({mutant.path for mutant in MUTANTS}))
def test_a_good_run_passes(path: str, runs: dict[str, tuple[str, Case]]) -> None:
    good = unpacked(*runs[path])
    assert problems(good, good) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.broken.replace(" ", "-"))
def test_each_mutant_is_seen(mutant: Mutant, runs: dict[str, tuple[str, Case]]) -> None:
    good, bad = (unpacked(*runs[mutant.path]) for _ in range(2))
    mutant.change(bad)
    assert any(mutant.said in problem for problem in problems(bad, good)), problems(bad, good)
