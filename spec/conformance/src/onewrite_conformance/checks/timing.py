"""Checks of timing records: invariants of every record, and what a case expects of its own.

Order, presence and equality are checked. Durations are compared only with those of the tap's script, far enough from
them that a busy machine does not matter (`bound_problems`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import jsonschema
from onewrite_lab.tap.answers import expand
from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.verdict import either, matches
from onewrite_conformance.contract.places import SCHEMAS, SPEC, read_yaml

__all__ = [
    "anywhere_problems",
    "bound_problems",
    "cause_problems",
    "expected_problems",
    "record_problems",
    "timed",
]

CLOCK_TOLERANCE_NS = 100_000  # a runtime may compute its times from an earlier reading of the same clock
CALL_NS = 60_000_000_000  # a call began that long ago at most
LONG_NS = 20_000_000  # events.yaml, `causes`: of a wait that long
TOLERANCE_NS = 1_000  # a phase and its events come from the same clock readings; JSON may round
OUTCOMES = {"response": "ok", "error": "error", "cancelled": "cancelled"}
ANSWERED = ("response_start", "headers_end", "response_end")
Record = dict[str, Any]


@lru_cache(maxsize=1)
def _model() -> dict[str, Any]:
    model: dict[str, Any] = read_yaml((SPEC / "events.yaml").read_text())
    return model


@lru_cache(maxsize=1)
def _schema() -> Any:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / "timing-v2.schema.json").read_text()))


_shapes_seen: set[object] = set()


def _schema_problem(record: Record) -> str | None:
    """The first mismatch of a record and its schema. Each shape is checked once: a check takes a millisecond."""
    shape = tuple((key, type(value), value if isinstance(value, str) else None) for key, value in record.items())
    if shape in _shapes_seen:
        return None
    error = jsonschema.exceptions.best_match(_schema().iter_errors(record))
    if error is None:
        _shapes_seen.add(shape)
        return None
    where = "/".join(str(part) for part in error.absolute_path) or "itself"
    return f"the record does not fit its schema: {where}: {error.message[:200]}"


def timed(seen: Observation) -> bool:
    """Whether the requests of this run had a hook that records."""
    return seen.hooked and "timing" in seen.capabilities


def record_problems(seen: Observation) -> Iterable[str]:
    """The invariants of all records of a run (TIME-*). A case need not ask for them."""
    misread = False
    for number, sample in enumerate(seen.samples):
        misread = misread or any(_misread(exchange, sample) for exchange in sample.exchanges)
        label = f"request {number}: " if len(seen.samples) > 1 else ""
        yield from (label + one for one in _sample_problems(sample, seen, misread))
    if not misread:
        yield from connection_problems(seen.samples)


def _misread(exchange: Exchange, sample: Sample) -> bool:
    """Whether the tap may have taken other bytes for a request than the client, as a body without a length."""
    request = exchange.request
    other = request.method != sample.request["method"] and not (sample.batch or _redirected(sample))
    odd = request.head.partition(b"\r\n")[0].count(b" ") != 2
    return bool(request.problems or exchange.extra or other or odd)


def _redirected(sample: Sample) -> bool:
    return any(one.answer is not None and 300 <= one.answer.effective_status() < 400 for one in sample.exchanges)


def _sample_problems(sample: Sample, seen: Observation, misread: bool) -> Iterable[str]:
    records: list[Record] = sample.reply.get("records") or []
    if sample.reply.get("called") is False:
        return
    if not misread:
        yield from _count_problems(sample, records, seen)
    for number, whole in enumerate(records):
        label = f"record {number}: " if len(records) > 1 else ""
        record = {name: value for name, value in whole.items() if name != "events"}
        found = [*_shape_problems(record), *_event_problems(record, whole.get("events") or [], _answered_early(sample))]
        if number == len(records) - 1 and not sample.batch:
            found += _reply_problems(record, sample, seen)
            if not misread and sample.exchange is not None:
                found += _tap_problems(record, dict(whole.get("events") or ()), sample, sample.exchange, seen)
        elif sample.batch and not misread:
            found += _url_problems(record, sample)
        yield from (label + one for one in found)


def _count_problems(sample: Sample, records: list[Record], seen: Observation) -> Iterable[str]:
    """One record for each request that arrived, or one for a call of which nothing arrived (TIME-1).

    A request that failed may have broken off before the tap got it.
    """
    if len({record.get("started_at_mono_ns") for record in records}) < len(records):
        yield f"{len(records)} timing records arrived, some of them twice"
    wanted = seen.run.expect(seen.run.case.do[sample.step]).get("timing", {}).get("records")
    if wanted is not None:
        if not matches(len(records), wanted):
            yield f"{len(records)} timing records arrived, not {either(wanted)}"
        return
    arrived = 0 if sample.batch else sum(exchange.complete for exchange in sample.exchanges)
    refused = sample.reply["outcome"] == "error" and sample.reply["error"]["kind"] == "other"
    failed = sum(record.get("outcome") != "ok" for record in records)
    least = 0 if refused and not arrived else max(1, arrived)
    if not least <= len(records) <= max(1, arrived) + failed:
        yield f"{len(records)} timing records arrived, not {max(1, arrived)}"


def _shape_problems(record: Record) -> Iterable[str]:
    """What a record must be by itself."""
    misfit = _schema_problem(record)
    if misfit is not None:
        yield misfit
        return
    if record.get("reused"):
        stale = [phase for phase in ("dns", "connect", "tls") if record.get(f"{phase}_ns") is not None]
        if stale:
            yield f"the connection was reused, yet the record has {', '.join(stale)}"
    longer = [name for name in _phases() if (record.get(f"{name}_ns") or 0) > record["total_ns"]]
    if longer:
        yield f"{longer[0]}_ns is longer than total_ns"
    if (record["outcome"] == "ok") != (record.get("error_kind") is None):
        yield f"the outcome is {record['outcome']}, yet error_kind is {record.get('error_kind')}"
    yield from _share_problems(record)


def _phases() -> dict[str, tuple[str, str]]:
    return {phase["name"]: (phase["from"], phase["to"]) for phase in _model()["phases"]}


def shares(record: Record) -> dict[str, int] | None:
    """How long a wait was held, unread, and the rest (events.yaml, `causes`)."""
    kernel = record.get("kernel") or {}
    held, unread = kernel.get("send_hold_ns"), kernel.get("unread_ns")
    if record.get("wait_ns") is None or held is None:
        return None
    rest = max(0, record["wait_ns"] - held - (unread or 0))
    return {"held": held, "unread": unread or 0, "rest": rest}


def _share_problems(record: Record) -> Iterable[str]:
    """Only a long wait has a cause, and the largest share names it."""
    cause, wait_ns, found = record.get("cause"), record.get("wait_ns"), shares(record)
    if cause is not None and (wait_ns is None or wait_ns < LONG_NS or found is None):
        yield f"the cause of the wait is {cause}, yet wait_ns is {wait_ns} and the kernel's evidence {found}"
    elif (
        found is not None and wait_ns is not None and wait_ns >= LONG_NS and "unread_ns" in (record.get("kernel") or {})
    ):
        largest = max(found, key=lambda name: found[name])  # of equal shares the first
        may: dict[str, list[str | None]] = {"held": [None], "unread": [], "rest": []}
        for one in _model()["causes"]:
            may[one["share"]].append(one["name"])
        if cause not in may[largest]:
            yield f"the cause of the wait is {cause}, yet wait_ns is {wait_ns} and its shares are {found}"


def _event_problems(record: Record, events: list[Any], early: bool) -> Iterable[str]:
    """Order, times, and the phases that are made of them (TIME-5, TIME-9, TIME-21)."""
    order: list[str] = _model()["events"]
    names = [name for name, _ in events]
    times = {name: int(at) for name, at in events}
    if len(names) != len(times) or names != [name for name in order if name in times]:
        yield f"the events are not in the order of events.yaml: {' '.join(names)}"
        return
    start = int(record["started_at_mono_ns"])
    end = start + record["total_ns"]
    idle = _idle_ns(events)
    kept = [one for one in events if not (early and one[0] == "request_end")]
    for (before, earlier), (after, later) in pairwise(kept):
        if int(later) < int(earlier):
            yield f"time goes back by {int(earlier) - int(later)} ns from {before} to {after}"
    for name, at in times.items():
        if not start - TOLERANCE_NS <= at <= end + idle + TOLERANCE_NS:
            yield f"{name} is {at - start} ns from started_at_mono_ns, total_ns is {record['total_ns']}"
    if record.get("reused") and (made := {"dns_start", "connect_start", "tls_start"} & times.keys()):
        yield f"the connection was reused, yet {', '.join(sorted(made))} happened"
    for phase, (first, last) in _phases().items() if events else ():
        value = record.get(f"{phase}_ns")
        failed = record["outcome"] != "ok" and last not in times
        until = times.get(last, end if failed else None)
        expected = None if first not in times or until is None else until - times[first]
        if value is None:
            if (
                expected is not None
                and expected > TOLERANCE_NS
                and (last in times or record.get("error_phase") == phase)
            ):
                yield f"{first} and its end are {expected} ns apart, yet the record has no {phase}_ns"
        elif expected is None:
            yield f"the record has {phase}_ns = {value}, yet {first if first not in times else last} did not happen"
        elif not expected - TOLERANCE_NS <= value <= expected + TOLERANCE_NS + (0 if last in times else idle):
            yield f"{phase}_ns is {value}, its events are {expected} ns apart"


def _idle_ns(events: list[Any]) -> int:
    """The time between a new connection and what comes after it: a program may make its first request later."""
    made = [at for at, (name, _) in enumerate(events) if name in ("connect_end", "tls_end")]
    return int(events[made[-1] + 1][1]) - int(events[made[-1]][1]) if made and made[-1] + 1 < len(events) else 0


def _answered_early(sample: Sample) -> bool:
    """Whether the tap answered before it had the whole request: then the answer may overtake the end of sending."""
    return any(
        not exchange.complete or (exchange.answer_ns and exchange.answer_ns < exchange.complete_ns)
        for exchange in sample.exchanges
    )


def _reply_problems(record: Record, sample: Sample, seen: Observation) -> Iterable[str]:
    """The last record of a call against the driver's reply."""
    outcome = OUTCOMES[sample.reply["outcome"]]
    if record.get("outcome") != outcome:
        yield f"the record's outcome is {record.get('outcome')}, the call's {outcome}"
    if outcome == "ok" and record.get("status") != sample.reply.get("status"):
        yield f"the record's status is {record.get('status')}, the response's {sample.reply.get('status')}"
    ago_ns = seen.ended_unix_ns - int(record.get("started_at_unix_ns") or 0)
    if abs(ago_ns) > CALL_NS:
        yield f"started_at_unix_ns is {ago_ns / 1e9:.0f} s ago"


def _tap_problems(
    record: Record, times: dict[str, Any], sample: Sample, exchange: Exchange, seen: Observation
) -> Iterable[str]:
    """The last record of a call against what the tap saw."""
    if record.get("method") != exchange.request.method:
        yield f"the record's method is {record.get('method')}, the request's {exchange.request.method}"
    yield from _url_problems(record, sample)
    if _read_the_answer(sample, exchange):
        yield from _received_problems(record, sample, exchange)
    if not exchange.complete or exchange.extra or sample.reply["outcome"] != "response":
        return
    if record.get("bytes_sent") not in (None, len(exchange.request.wire)):
        yield f"bytes_sent is {record.get('bytes_sent')}, the tap got {len(exchange.request.wire)}"
    nth = record.get("conn_requests")
    if len(sample.exchanges) == 1 and nth not in (None, exchange.nth_on_connection + 1):
        yield f"conn_requests is {nth}, the request is number {exchange.nth_on_connection + 1} of its connection"
    if _read_the_answer(sample, exchange) and "shared_clock" in seen.capabilities:
        yield from _clock_problems(times, exchange, sample)


def _read_the_answer(sample: Sample, exchange: Exchange) -> bool:
    """Whether what the client read is the tap's answer, and not one that lay on an idle connection."""
    answer, reply = exchange.answer, sample.reply
    if answer is None or answer.raw is not None or reply.get("status") not in (None, answer.effective_status()):
        return False
    whole = answer.truncate is None and reply["outcome"] == "response" and sample.request.get("read") != "none"
    return not whole or reply.get("body_bytes") in (0, None, len(answer.content()))


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or (443 if url.scheme == "https" else 80)


def _url_problems(record: Record, sample: Sample) -> Iterable[str]:
    """Scheme, host, port and path, as given or as sent; a scheme's own port may be there or not (SEC-17).

    A program that sets Host itself names another origin by it (RFC 9110, 7.1). Netty knows no other name.
    """
    url = record.get("url")
    given = urlsplit(str(sample.request["url"]))
    hosts = [value for name, value in sample.request.get("headers") or () if name.lower() == "host"]
    origins = [given, *(urlsplit(f"{given.scheme}://{host}") for host in hosts)]
    if url is None or not sample.exchanges:
        return
    try:
        told = urlsplit(url)
        alike = _origin(told) in map(_origin, origins)
    except ValueError:
        alike = False
    sent = () if sample.batch else sample.exchanges  # a batch has the exchanges of all its requests
    paths = {given.path, *(one.request.path.partition("?")[0] for one in sent)}
    path = _decoded(told.path) if alike else ""
    if not _redirected(sample) and (not alike or path not in map(_decoded, paths)):
        yield f"the record's url is {url}, the request's {sample.request['url']}"
    elif any(mark in url for mark in "?#") or "@" in (told.netloc if alike else ""):
        yield f"the record's url holds a query, a fragment or userinfo: {url}"


def _decoded(path: str) -> str:
    return unquote(path or "/", "latin-1")


def _received_problems(record: Record, sample: Sample, exchange: Exchange) -> Iterable[str]:
    """bytes_received is what was read of the body: no less than the program got, no more than the tap sent."""
    told, answer = record.get("bytes_received"), exchange.answer
    if told is None or answer is None:
        return
    sent = sum(map(len, answer.message(exchange.request.method, {})))
    most = sent if answer.truncate is None else min(sent, answer.truncate)
    least = (sample.reply.get("body_bytes") or 0) if sample.request.get("read") != "none" else 0
    if not least <= told <= most:
        yield f"bytes_received is {told}, the program got {least}, the tap sent {most}"


def _clock_problems(times: dict[str, Any], exchange: Exchange, sample: Sample) -> Iterable[str]:
    """The client's times against the tap's: both read CLOCK_MONOTONIC."""
    started, answered, ended = (times.get(name) for name in ("request_start", "response_start", "response_end"))
    slack = CLOCK_TOLERANCE_NS
    if started is not None and exchange.first_ns and int(started) > exchange.first_ns + slack:
        yield f"request_start is {_ms(int(started) - exchange.first_ns)} after the tap had read of it"
    if answered is not None and exchange.answer_ns and int(answered) < exchange.answer_ns - slack:
        yield f"response_start is {_ms(exchange.answer_ns - int(answered))} before the tap began to answer"
    whole = sample.request.get("read") != "none" and exchange.request.method != "HEAD"
    if whole and ended is not None and int(ended) < exchange.last_write_ns - slack:
        yield f"response_end is {_ms(exchange.last_write_ns - int(ended))} before the tap's last write"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f} ms"


def connection_problems(samples: list[Sample]) -> Iterable[str]:
    """Each connection has a conn_id that no other has, and was not idle before its last answer began."""
    pairs = set()
    answered: dict[int, int] = {}  # when the last answer on a connection began
    for sample in samples:
        before = 0
        for exchange in sample.exchanges:
            before = answered.get(exchange.arrival.index, 0)
            answered[exchange.arrival.index] = exchange.answer_ns
        records = sample.reply.get("records")
        if records and sample.exchange and not sample.batch and sample.reply["outcome"] == "response":
            pairs.add((records[-1].get("conn_id"), sample.exchange.arrival.index))
            idle_ns, most_ns = records[-1].get("idle_ns"), sample.exchange.first_ns - before
            if before and idle_ns is not None and idle_ns > most_ns + CLOCK_TOLERANCE_NS:
                yield f"idle_ns is {_ms(idle_ns)}, the last answer began {_ms(most_ns)} before the request"
    for what, values in (("conn_ids", {one for one, _ in pairs}), ("connections", {other for _, other in pairs})):
        if len(values) != len(pairs):
            yield f"{len(pairs)} pairs of conn_id and connection have {len(values)} {what}: {sorted(pairs, key=str)}"


# -- what a case expects -----------------------------------------------------------------------------------


def _last(sample: Sample) -> Record:
    records = sample.reply.get("records")
    return records[-1] if records else {}


def expected_problems(sample: Sample, wanted: dict[str, Any], names: dict[str, str]) -> Iterable[str]:
    """The `timing` of a case against one counted request: presence and fields of its last record."""
    last = _last(sample)
    if not last:
        return
    for phase in wanted.get("present", ()):
        if last.get(f"{phase}_ns") is None:
            yield f"the phase {phase} is absent"
    for phase in wanted.get("absent", ()):
        if last.get(f"{phase}_ns") is not None:
            yield f"the phase {phase} is there: {last[f'{phase}_ns']} ns"
    happened = [name for name, _ in last.get("events") or ()]
    for name, there in wanted.get("events", {}).items():
        if happened and (name in happened) != there:
            yield f"the event {name} {'did not happen' if there else 'happened'}"
    for name, value in wanted.get("fields", {}).items():
        value = expand(value, names) if isinstance(value, str) else value
        if not _field_matches(last.get(name), value):
            yield f"{name} of the record is {last.get(name)!r}, not {value!r}"
    everything = json.dumps(sample.reply.get("records"))
    yield from (f"a record holds {text!r}" for text in wanted.get("not_told", ()) if text in everything)


def cause_problems(samples: list[Sample], expect: dict[str, Any]) -> Iterable[str]:
    """Waits that have another cause than the tap's script gives them, in more than a quarter of the requests.

    A client that lost the CPU between its writes may meet another cause. That a cause fits its own record is checked
    of each (`_share_problems`).
    """
    if "cause" not in expect.get("timing", {}):
        return
    wanted = expect["timing"]["cause"]
    causes = wanted if isinstance(wanted, list) else [wanted]
    last = [_last(sample) for sample in samples]
    others = [record for record in last if record.get("cause") not in causes]
    if len(others) > len(last) // 4:
        other = others[0]
        cause = f"{other.get('cause')}, not {either(causes)}: wait_ns {other.get('wait_ns')}, {other.get('kernel')}"
        yield f"the cause of the wait is {cause}, in {len(others)} of {len(last)} requests"


def bound_problems(samples: list[Sample], expect: dict[str, Any]) -> Iterable[str]:
    """Phases that are shorter or longer than the tap's script makes them, in more than a quarter of the requests.

    A client that waits for a timer waits each time; one that lost the CPU measured too much or too little once.
    """
    last = [_last(sample) for sample in samples if sample.reply.get("records")]
    for phase, bounds in expect.get("timing", {}).get("bounds", {}).items():
        values = [record.get(f"{phase}_ns") for record in last]
        if None in values:
            yield f"the phase {phase} is absent in {values.count(None)} of {len(values)} records"
        known = [int(value) / 1e6 for value in values if value is not None]
        low, high = bounds.get("min_ms", 0), bounds.get("max_ms", float("inf"))
        outside = [value for value in known if not low <= value <= high]
        if len(outside) > len(known) // 4:
            took = ", ".join(f"{value:.3f}" for value in outside[:5])
            yield f"{phase} took {took} ms, not within {bounds}, in {len(outside)} of {len(known)} requests"


def anywhere_problems(samples: list[Sample], expect: dict[str, Any]) -> Iterable[str]:
    """Phases that at least one request of a step has."""
    for phase in expect.get("timing", {}).get("anywhere", ()):
        if all(_last(sample).get(f"{phase}_ns") is None for sample in samples):
            yield f"the phase {phase} is absent in all of {len(samples)} records"


def _field_matches(actual: Any, wanted: Any) -> bool:
    if wanted == "$any":
        return actual is not None
    if isinstance(wanted, dict):
        return actual is not None and wanted.get("min", actual) <= actual <= wanted.get("max", actual)
    return bool(actual == wanted)
