"""Each thing that can be broken in a client is seen: a mutant changes a recorded good run, and its case fails.

The three that prove the tap, end to end, are in test_broken_clients.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from onewrite_conformance.checks.outcome import judge
from onewrite_conformance.checks.same import differences, shown
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
    """Other values in each record; a value that is a function gets the old one."""

    def change(seen: Observation) -> None:
        for sample in seen.samples:
            for name, value in values.items():
                told: Any = sample.reply["timing"]
                told[name] = value(told.get(name)) if callable(value) else value

    return change


def attempt(**values: Any) -> Callable[[Observation], None]:
    """The same in the last attempt of each record."""

    def change(seen: Observation) -> None:
        for sample in seen.samples:
            told: Any = sample.reply["timing"]["attempts"][-1]
            for name, value in values.items():
                told[name] = value(told.get(name)) if callable(value) else value

    return change


def event(name: str, **values: Any) -> Callable[[Observation], None]:
    """Other values in the events of this name, and in the record that is made of them."""

    def change(seen: Observation) -> None:
        for sample in seen.samples:
            for one in sample.reply["events"]:
                if one["name"] == name:
                    one.update(
                        {key: value(one.get(key)) if callable(value) else value for key, value in values.items()}
                    )

    return change


def without(*names: str) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for sample in seen.samples:
            sample.reply["events"] = [one for one in sample.reply["events"] if one["name"] not in names]

    return change


def twice(name: str) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for sample in seen.samples:
            events = sample.reply["events"]
            at = next(at for at, one in enumerate(events) if one["name"] == name)
            events.insert(at, dict(events[at]))

    return change


def swapped(first: str, second: str) -> Callable[[Observation], None]:
    """Two events in each other's place."""

    def change(seen: Observation) -> None:
        for sample in seen.samples:
            events = sample.reply["events"]
            one, other = (
                next(at for at, each in enumerate(events) if each["name"] == name) for name in (first, second)
            )
            events[one], events[other] = events[other], events[one]

    return change


def error(**values: Any) -> Callable[[Observation], None]:
    """Another error of the last call."""
    return lambda seen: seen.samples[-1].reply["error"].update(values)


def state(**values: Any) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for told in seen.states.values():
            told.update(values)

    return change


def set_to(**values: Any) -> Callable[[Observation], None]:
    def change(seen: Observation) -> None:
        for name, value in values.items():
            setattr(seen, name, value)

    return change


def no_hooks(seen: Observation) -> None:
    for sample in seen.samples:
        sample.reply.update(timing=None, timings=0, events=[])


def told_anyway(seen: Observation) -> None:
    seen.samples[-1].reply.update(timings=1, events=[{"name": "call_start", "t_ns": 1}])


def mixed_records(seen: Observation) -> None:
    one, other = seen.samples[-1].reply, seen.samples[-2].reply
    one["timing"], other["timing"] = other["timing"], one["timing"]


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
    Mutant("TCP_NODELAY is set after the handshake", f"tcp/2/nodelay-tls-12/{H}", arrivals(nodelay_at_hello=False), "off at the ClientHello"),
    Mutant("the user's options are not set", f"tcp/3/options-keepalive-only/{P}", arrivals(client_options={"SO_KEEPALIVE": 0}), "SO_KEEPALIVE"),
    Mutant("TCP_NODELAY is set although the user said 0", f"tcp/3/options-nodelay-off-obeyed/{P}", arrivals(nodelay=True), "TCP_NODELAY is on"),
    Mutant("a stream waits until it is whole", f"tcp/11/no-cork/{P}", exchanges(segments=1), "segments: 1"),
    Mutant("a chunk waits for the next one", f"wire/9/stream-chunked-gap/{P}", exchanges(segments=2), "segments: 2"),
    Mutant("head and body leave in two writes", f"wire/1/post-200b/{P}", split, "segments: 2, not 1"),
    Mutant("the first bytes are the head alone", f"wire/4/post-1mb/{P}", split, "the head alone"),
    Mutant("a request has two records", f"wire/1/example-1/{H}", exchanges(records=2), "TLS records: 2"),
    Mutant("the first record is not filled", f"wire/4/boundary-above/{H}", exchanges(first_record_bytes=1000), "bytes in the first record: 1000"),
    Mutant("a chunk's size line leaves alone", f"wire/10/stream-chunked-many/{H}", exchanges(records=22), "TLS records: 22"),
    Mutant("an empty body makes a second write", f"wire/6/post-empty-bytes/{P}", event("request_end", writes=2), "writes by the adapter's account: 2"),
    Mutant("the body does not wait for 100", f"wire/12/expect-continue-late/{P}", lambda seen: exchanges(first_piece=seen.exchanges[0].request.wire)(seen), "head and body"),
    Mutant("large bodies are copied", f"wire/14/large-not-copied/{P}", set_to(memory_growth=2 << 26), "peak memory grew by 4.0 times"),
    Mutant("a byte of a header is another one", f"same/1/plain/{P}", other_bytes, "bytes: message 10"),
    Mutant("CONNECT names another authority", "same/1/tunnel/onewrite/https/connect", other_target, "bytes: CONNECT 0"),
    Mutant("a POST is sent again", f"same/3/read-and-closed-post/{P}", sent_again, "bytes: message"),
    Mutant("a connection that should close is used again", f"same/3/connection-close/{P}", kept_open, "connections: message 1"),
    Mutant("another connection is used", f"same/1/plain/{P}", one_connection_more, "connections: message 10"),
    Mutant("an error has another class", f"same/2/refused/{P}", error(type="OnewriteError"), "outcome: request 1, outcome"),
    Mutant("an error has another message", f"same/2/refused/{P}", error(message="by onewrite"), "message: request 1"),
    Mutant("a body has another position", f"same/4/objects-memory-file/{P}", reply(objects={"body_position": 0}), "objects: request 0, body_position"),
    Mutant("a late answer reaches the next caller", f"same/3/unsolicited-answer/{P}", late_answer, "outcome: request 1, body"),
    Mutant("an answer differs", f"same/3/unsolicited-answer/{P}", reply(status=299), "outcome: request 1, status"),
    Mutant("a time limit ends nothing", f"same/5/wait-timeout/{P}", reply(elapsed_us=900_000), "took: request 1"),
    Mutant("requests leave in more segments than with stock", f"same/1/plain/{P}", exchanges(segments=3), "no_more_segments: message 0"),
    Mutant("disabled, hooks are called", f"same/6/off-hooks/{P}", told_anyway, "none was to"),
    Mutant("a connection that was given up is used again", f"same/7/timed-out/{P}", lambda seen: setattr(seen.exchanges[-1], "nth_on_connection", 2), "used before"),
    Mutant("nothing is delivered", f"time/1/concurrent/{P}", no_hooks, "0 timing records arrived"),
    Mutant("a request gets the record of another", f"time/1/concurrent/{P}", mixed_records, "the record's url is"),
    Mutant("a refused call has no attempt", f"time/1/refused-request/{P}", record(attempts=[]), "0 attempts, not 1"),
    Mutant("no call_end", f"time/21/refused/{P}", without("call_end"), "call_end arrived 0 times"),
    Mutant("call_end comes twice", f"time/3/fresh-events/{P}", twice("call_end"), "call_end arrived 2 times"),
    Mutant("an event comes after call_end", f"time/3/fresh-events/{P}", swapped("attempt_end", "call_end"), "the last event is attempt_end"),
    Mutant("connection_acquired comes late", f"time/3/reused-events/{P}", swapped("connection_acquired", "request_start"), "came after"),
    Mutant("times go back", f"time/5/anchor/{P}", event("response_end", t_ns=lambda old: old - HOUR), "time goes back"),
    Mutant("the wall clock is an hour off", f"time/5/anchor/{P}", record(started_at_unix_ns=lambda old: old - HOUR), "started_at_unix_ns is 36"),
    Mutant("a phase that did not happen is 0", f"time/7/reused-phases/{P}", attempt(dns_ns=0), "dns_ns is 0"),
    Mutant("a reused connection has a connect phase", f"time/7/reused-phases/{P}", attempt(connect_ns=1000), "yet the record has connect"),
    Mutant("a total ends before its last event", f"time/9/fresh-post/{P}", record(total_ns=lambda old: old - 1_000_000), "the call's total_ns"),
    Mutant("a phase is longer than its events are apart", f"time/9/fresh-post/{P}", attempt(wait_ns=later("wait")), "its events are"),
    Mutant("phases are summed over attempts", f"time/10/redirect/{P}", attempt(wait_ns=lambda old: old + 700_000_000), "wait took"),
    Mutant("a redirect is no attempt", f"time/10/redirect/{P}", record(attempts=lambda old: old[-1:]), "1 attempts, not 2"),
    Mutant("the bytes of a request lack one", f"time/12/record-fields/{P}", attempt(bytes_sent=lambda old: old - 1), "bytes_sent is"),
    Mutant("response_start is the end of the response", f"time/13/receive-split/{P}", attempt(receive_ns=1000), "receive took"),
    Mutant("a 1xx answer ends the wait", f"time/13/interim/{P}", attempt(wait_ns=1000), "wait took"),
    Mutant("a 1xx answer is no event", f"time/3/interim-events/{P}", without("informational"), "the events part from"),
    Mutant("request_start is early", "time/17/tunnel-slow-proxy/onewrite/https/connect", attempt(send_ns=later("send"), connect_ns=1000), "connect took"),
    Mutant("response_start is before the server", f"time/29/wait/{P}", event("response_start", t_ns=lambda old: old - 190_000_000), "before the tap began to answer"),
    Mutant("a body that is given up has a response_end", f"time/15/unread-body/{P}", twice("headers_end"), "headers_end came 2 times"),
    Mutant("waiting for a connection is no phase", f"time/16/queue/{P}", attempt(queue_ns=None), "queue"),
    Mutant("every connection has one request", f"time/19/conn-requests/{P}", attempt(conn_requests=1), "conn_requests of the record is 1"),
    Mutant("a connection is idle since it was made", f"time/19/conn-requests/{P}", attempt(idle_ns=HOUR), "idle_ns is"),
    Mutant("all connections have one conn_id", f"time/20/not-reusable/{P}", attempt(conn_id=1), "conn_ids"),
    Mutant("each connection is reusable", f"time/20/not-reusable/{P}", event("connection_released", reusable=True), "the events part from"),
    Mutant("a failed call has no kind", f"time/21/refused/{P}", record(error_kind=None), "error_kind of the record"),
    Mutant("a failed call is ok", f"time/21/refused/{P}", record(outcome="ok"), "the record's outcome is ok"),
    Mutant("a cancelled call is an error", f"time/22/cancel-wait/{P}", record(outcome="error"), "the record's outcome is error"),
    Mutant("a hook that raises breaks the request", f"time/23/raising-hooks/{P}", reply(outcome="error", error={"kind": "other"}), "outcome is error"),
    Mutant("every wait is blamed on Nagle", f"time/26/cause-server/{P}", attempt(cause="nagle_delayed_ack"), "nagle_delayed_ack"),
    Mutant("evidence counts since the connection was made", f"time/28/evidence-after-loss/{P}", attempt(kernel=lambda old: old and old | {"segments_out": 9}), "segments_out by the kernel's evidence: 9"),
    Mutant("the phase that failed is absent", f"time/37/timeout-wait/{P}", attempt(wait_ns=None), "the phase wait is absent"),
    Mutant("a handle takes all hooks away", "time/36/handle/patched/http/direct", no_hooks, "record: 0 arrived"),
    Mutant("a record holds a signature", f"sec/17/signature/{P}", record(url=lambda old: f"{old}&sig=letmein"), "holds 'letmein'"),
    Mutant("a bad value is ignored without a warning", f"cfg/5/bad-words/{P}", set_to(warnings={"ONEWRITE_DISABLED": 0}), "warn of ONEWRITE_DISABLED"),
    Mutant("1 is no true word", f"cfg/3/true-words/{P}", told_anyway, "none was to"),
    Mutant("hooks are called though they are disabled", f"cfg/8/hooks-disabled/{P}", told_anyway, "none was to"),
    Mutant("a bad option in code is taken", f"cfg/13/bad-code-value/{P}", reply(outcome="response", status=200), "outcome is response"),
    Mutant("an error does not name the option", f"cfg/13/bad-code-value/{P}", error(message="bad"), "does not name coalesce_max"),
    Mutant("observing, requests are joined", f"cfg/15/observe/{P}", exchanges(segments=7), "segments: usually"),
    Mutant("an adapter that was taken out stays out", "api/1/installed/patched/http/direct", split, "segments: 2"),
    Mutant("taking it out changes nothing", "api/2/taken-out/patched/http/direct", exchanges(segments=1), "segments: usually"),
    Mutant("installed twice, hooks are called twice", "api/3/again/patched/http/direct", reply(timings=2), "2 timing records"),
    Mutant("the state says it is not in force", "api/4/status-hooks/patched/http/direct", state(in_force=False), "in_force is False"),
    Mutant("on_timing alone gets nothing", f"api/5/on-timing-alone/{P}", no_hooks, "record: 0 arrived"),
    Mutant("a listener alone gets nothing", f"api/5/listener-alone/{P}", no_hooks, "events: 0 arrived"),
]  # fmt: skip

Contract = tuple[list[Case], dict[str, Requirement]]


@pytest.fixture(scope="module")
def runs(contract: Contract) -> dict[str, tuple[str, Case]]:
    return recorded(contract[0])


def problems(ours: Observation, stock: Observation) -> list[str]:
    case = ours.run.case
    found = judge(ours).problems if case.expect or not case.same else []
    facets = [*case.same, "message", "no_more_segments"] if case.same else []
    return found + differences([shown(ours, case.even)], [shown(stock, case.even)], facets)


@pytest.mark.parametrize("path", sorted({mutant.path for mutant in MUTANTS}))
def test_a_good_run_passes(path: str, runs: dict[str, tuple[str, Case]]) -> None:
    good = unpacked(*runs[path])
    assert problems(good, good) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.broken.replace(" ", "-"))
def test_each_mutant_is_seen(mutant: Mutant, runs: dict[str, tuple[str, Case]]) -> None:
    good, bad = (unpacked(*runs[mutant.path]) for _ in range(2))
    mutant.change(bad)
    assert any(mutant.said in problem for problem in problems(bad, good)), problems(bad, good)
