"""Checks timing records and events: invariants that hold for every call, and what a case expects beyond.

Order, presence and equality are what is checked, as W3C's resource timing tests do, and event sequences as MongoDB's
driver tests. Durations are compared with those of the tap's script alone, far enough from them that a busy machine
does not matter (`bound_problems`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import jsonschema
import yaml
from onewrite_lab.tap.answers import expand

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.verdict import either, matches
from onewrite_conformance.contract.places import SCHEMAS, SPEC

__all__ = ["bound_problems", "cause_problems", "connection_problems", "sequence_problem", "timing_problems"]

PHASES = ("queue", "dns", "connect", "tls", "send", "wait", "receive", "total")
CLOCK_TOLERANCE_NS = 100_000  # a runtime may compute its times from an earlier reading of the same clock
CALL_NS = 60_000_000_000  # a call began that long ago at most
LONG_NS = 20_000_000  # events.yaml, `causes`: of a wait that long
TOLERANCE_NS = 1_000  # a record and its events are made of the same clock readings; JSON may round


@lru_cache(maxsize=1)
def _model() -> dict[str, Any]:
    model: dict[str, Any] = yaml.safe_load((SPEC / "events.yaml").read_text())
    return model


@lru_cache(maxsize=1)
def _rank() -> dict[str, int]:
    return {event["name"]: index for index, event in enumerate(_model()["events"])}


@lru_cache(maxsize=1)
def _ends() -> dict[str, str]:
    ends = {event["name"]: event["ends"] for event in _model()["events"] if "ends" in event}
    return ends | {"attempt_start": "attempt_end", "call_start": "call_end"}


@lru_cache(maxsize=1)
def _schema() -> Any:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / "timing-v1.schema.json").read_text()))


_shapes_seen: set[tuple[object, ...]] = set()


def _schema_problem(record: dict[str, Any]) -> str | None:
    """The first misfit of a record and its schema. Each shape is checked once: a check takes a millisecond."""
    attempts = [item for item in record.get("attempts") or () if isinstance(item, dict)]
    types = [tuple((key, type(value)) for key, value in item.items()) for item in (record, *attempts)]
    shape = tuple(types)
    if shape in _shapes_seen:
        return None
    error = jsonschema.exceptions.best_match(_schema().iter_errors(record))
    if error is None:
        _shapes_seen.add(shape)
        return None
    where = "/".join(str(part) for part in error.absolute_path) or "itself"
    return f"the record does not fit its schema: {where}: {error.message[:200]}"


def timing_problems(sample: Sample, expect: dict[str, Any], seen: Observation) -> Iterable[str]:
    """The faults in the timing of one counted request."""
    reply, wanted, capabilities = sample.reply, expect.get("timing", {}), seen.capabilities
    if reply.get("called") is False:
        return
    delivered = expect.get("delivered", ("record", "events"))
    records = wanted.get("records", int("record" in delivered))
    if not matches(reply.get("timings", 0), records):
        yield f"{reply.get('timings', 0)} timing records arrived, not {either(records)}"
    record = reply.get("timing")
    events = reply.get("events") or []
    if "events" in capabilities and "events" in delivered and (events or not matches(0, records)):
        if not events:
            yield "no event arrived"
        else:
            yield from _event_invariants(events, _answered_early(sample))
    if "events" in expect and "events" in capabilities:
        problem = sequence_problem(events, expect["events"])
        if problem:
            yield problem
    for name in expect.get("no_events", ()):
        if any(event["name"] == name for event in events):
            yield f"the event {name} arrived"
    if record is None:
        return
    misfit = _schema_problem(record)
    if misfit is not None:
        yield misfit
    yield from _record_invariants(record, reply, events)
    ago_ns = seen.ended_unix_ns - int(record.get("started_at_unix_ns") or 0)
    if abs(ago_ns) > CALL_NS:
        yield f"started_at_unix_ns is {ago_ns / 1e9:.0f} s ago"
    yield from _account_problems(sample, record, wanted)
    if not sample.batch and "shared_clock" in capabilities and events:
        yield from _clock_problems(sample, events)
    yield from _expected(record, wanted, seen.names)
    everything = json.dumps([record, events])
    held = (f"the record or an event holds {text!r}" for text in wanted.get("not_told", ()) if text in everything)
    yield from held


def _answered_early(sample: Sample) -> bool:
    """Whether the tap answered before it had the whole request: then a response may overtake the end of sending."""
    return any(
        not exchange.complete or (exchange.answer_ns and exchange.answer_ns < exchange.complete_ns)
        for exchange in sample.exchanges
    )


# -- events ------------------------------------------------------------------------------------------------


def _event_invariants(events: list[dict[str, Any]], early: bool) -> Iterable[str]:
    names = [event["name"] for event in events]
    times = [int(event["t_ns"]) for event in events]
    if names[0] != "call_start":
        yield f"the first event is {names[0]}, not call_start"
    if names.count("call_end") != 1:
        yield f"call_end arrived {names.count('call_end')} times"
    elif names[-1] != "call_end":
        yield f"the last event is {names[-1]}, not call_end"
    for before, after, earlier, later in zip(names, names[1:], times, times[1:], strict=False):
        if later < earlier:
            yield f"time goes back by {earlier - later} ns from {before} to {after}"
    for attempt in sorted({int(event["attempt"]) for event in events if event.get("attempt") is not None}):
        own = [event["name"] for event in events if event.get("attempt") == attempt]
        yield from _pair_problems(own)
        yield from _order_problems(own, early)
        mine = [event for event in events if event.get("attempt") == attempt]
        yield from _reuse_problems(mine)


def _pair_problems(names: list[str]) -> Iterable[str]:
    counts = Counter(names)
    for start, end in _ends().items():
        if start != "call_start" and counts[start] != counts[end]:
            yield f"{counts[start]} {start} but {counts[end]} {end}"


def _order_problems(names: list[str], early: bool) -> Iterable[str]:
    """Order of events.yaml. Connecting may be tried over several addresses, so its events may come again;
    a 1xx may come while the body is being sent."""
    free = {"informational", "dns_start", "dns_end", "connect_start", "connect_end"}
    if early:
        free |= {"request_end", "response_start", "headers_end", "response_end"}
    highest, last = -1, ""
    for name in names:
        rank = _rank()[name]
        if name in free:
            continue
        if rank < highest:
            yield f"{name} came after {last}"
        if rank > highest:
            highest, last = rank, name
    for name, count in Counter(names).items():
        if count > 1 and name not in free:
            yield f"{name} came {count} times in one attempt"


def _reuse_problems(events: list[dict[str, Any]]) -> Iterable[str]:
    acquired = next((event for event in events if event["name"] == "connection_acquired"), None)
    if acquired is None:
        return
    connected = [event["name"] for event in events if event["name"] in ("dns_start", "connect_start", "tls_start")]
    if acquired.get("reused") and connected:
        yield f"the connection was reused, yet {', '.join(connected)} arrived"


# -- the record --------------------------------------------------------------------------------------------


def _record_invariants(record: dict[str, Any], reply: dict[str, Any], events: list[dict[str, Any]]) -> Iterable[str]:
    outcome = {"response": "ok", "error": "error", "cancelled": "cancelled"}[reply["outcome"]]
    if record.get("outcome") != outcome:
        yield f"the record's outcome is {record.get('outcome')}, the call's {outcome}"
    yield from _total_problems(record, events)
    attempts = record.get("attempts")
    if not isinstance(attempts, list):
        yield "the record has no list of attempts"
        return
    for position, attempt in enumerate(attempts):
        label = f"attempt {position}: " if len(attempts) > 1 else ""
        for phase in PHASES:
            value = attempt.get(f"{phase}_ns")
            if value is not None and int(value) <= 0:
                text = f"{label}{phase}_ns is {value}; a phase that did not happen is absent"
                yield text
        if attempt.get("reused"):
            stale = [phase for phase in ("dns", "connect", "tls") if attempt.get(f"{phase}_ns") is not None]
            if stale:
                text = f"{label}the connection was reused, yet the record has {', '.join(stale)}"
                yield text
        total = attempt.get("total_ns")
        if total is not None:
            longer = [phase for phase in PHASES[:-1] if int(attempt.get(f"{phase}_ns") or 0) > int(total)]
            if longer:
                yield f"{label}{longer[0]}_ns is longer than total_ns"
        yield from (f"{label}{problem}" for problem in _cause_problems(attempt))
        own = [event for event in events if event.get("attempt") == attempt.get("index", position)]
        yield from (f"{label}{one}" for one in _phase_event_problems(attempt, own))
    if reply["outcome"] == "response" and attempts and attempts[-1].get("status") != reply.get("status"):
        yield f"the record's status is {attempts[-1].get('status')}, the response's {reply.get('status')}"


def _account_problems(sample: Sample, record: dict[str, Any], wanted: dict[str, Any]) -> Iterable[str]:
    """The record of a request that arrived has its method and URL, and the bytes that the tap got."""
    exchange, last = sample.exchange, (record.get("attempts") or [{}])[-1]
    if exchange is None:
        return
    for name in ("method", "url") if "not_told" not in wanted else ():
        if record.get(name) != sample.request[name]:
            yield f"the record's {name} is {record.get(name)}, the request's {sample.request[name]}"
    counted = exchange.complete and not exchange.extra and not sample.batch and sample.reply["outcome"] == "response"
    if counted and last.get("bytes_sent") not in (None, len(exchange.request.wire)):
        yield f"bytes_sent is {last.get('bytes_sent')}, the tap got {len(exchange.request.wire)}"


def connection_problems(samples: list[Sample]) -> Iterable[str]:
    """Each connection has a conn_id, which no other has, and was not idle before its last answer began."""
    pairs = set()
    answered: dict[int, int] = {}  # when the last answer on a connection began
    for sample in samples:
        before = 0
        for exchange in sample.exchanges:
            before = answered.get(exchange.arrival.index, 0)
            answered[exchange.arrival.index] = exchange.answer_ns
        attempts = (sample.reply.get("timing") or {}).get("attempts")
        if attempts and sample.exchange and not sample.batch and sample.reply["outcome"] == "response":
            pairs.add((attempts[-1].get("conn_id"), sample.exchange.arrival.index))
            idle_ns, most_ns = attempts[-1].get("idle_ns"), sample.exchange.first_ns - before
            if before and idle_ns is not None and idle_ns > most_ns + CLOCK_TOLERANCE_NS:
                yield f"idle_ns is {_ms(idle_ns)}, the last answer began {_ms(most_ns)} before the request"
    for what, values in (("conn_ids", {one for one, _ in pairs}), ("connections", {other for _, other in pairs})):
        if len(values) != len(pairs):
            yield f"{len(pairs)} pairs of conn_id and connection have {len(values)} {what}: {sorted(pairs, key=str)}"


def _cause_problems(attempt: dict[str, Any]) -> Iterable[str]:
    """Only a long wait has a cause, and it is the server's where nothing was held for long (events.yaml, `causes`)."""
    cause, wait_ns = attempt.get("cause"), attempt.get("wait_ns")
    hold_ns = (attempt.get("kernel") or {}).get("send_hold_ns")
    long = wait_ns is not None and wait_ns >= LONG_NS
    if cause is not None and not long:
        yield f"the cause of the wait is {cause}, yet wait_ns is {wait_ns}"
    elif long and hold_ns is not None and (cause == "server") != (hold_ns < LONG_NS):
        yield f"the cause of the wait is {cause}, yet wait_ns is {wait_ns} and send_hold_ns {hold_ns}"


def _total_problems(record: dict[str, Any], events: list[dict[str, Any]]) -> Iterable[str]:
    """The call's total is the distance of its first and its last event, and holds its attempts."""
    if not events or events[0]["name"] != "call_start" or events[-1]["name"] != "call_end":
        return
    start, end = int(events[0]["t_ns"]), int(events[-1]["t_ns"])
    total, began = int(record.get("total_ns") or 0), record.get("started_at_mono_ns")
    if abs(total - (end - start)) > TOLERANCE_NS:
        yield f"the call's total_ns is {total}, call_start and call_end are {end - start} ns apart"
    if began is not None and abs(int(began) - start) > TOLERANCE_NS:
        yield f"started_at_mono_ns is {int(began) - start} ns from call_start"


def _phase_event_problems(attempt: dict[str, Any], events: list[dict[str, Any]]) -> Iterable[str]:
    """A phase of the record is the distance of its two events."""
    if not events:
        return
    counts = Counter(event["name"] for event in events)
    times = {event["name"]: int(event["t_ns"]) for event in events}
    for phase in _model()["phases"]:
        name, start, end = phase["name"], phase["from"], phase["to"]
        value = attempt.get(f"{name}_ns")
        if counts[start] > 1 or counts[end] > 1:
            continue
        if counts[start]:
            # A phase in which the attempt failed lasts until its end (TIME-37), whether its own end came or not.
            over = times[end] if counts[end] else times.get("attempt_end")
            failed = any(event["name"] == end and event.get("error") for event in events)
            distance = None if over is None else over - times[start]
            late = None if "attempt_end" not in times else times["attempt_end"] - times[start]
            may = [one for one in (distance, late if failed else None) if one is not None]
            if value is None and counts[end] and may and may[0] > 0 and not failed:
                yield f"{start} and {end} arrived, yet the record has no {name}_ns"
            elif value is not None and may and all(abs(int(value) - one) > TOLERANCE_NS for one in may):
                yield f"{name}_ns is {value}, its events are {may[0]} ns apart"
        elif value is not None:
            yield f"the record has {name}_ns = {value}, yet {start} did not arrive"


def _clock_problems(sample: Sample, events: list[dict[str, Any]]) -> Iterable[str]:
    """The client's times against the tap's: both read CLOCK_MONOTONIC."""
    attempts = [event.get("attempt") for event in events if event.get("attempt") is not None]
    if not sample.exchanges or not attempts:
        return
    exchange = sample.exchanges[-1]
    last = max(attempt for attempt in attempts if attempt is not None)
    times = {event["name"]: int(event["t_ns"]) for event in events if event.get("attempt") == last}
    if not times.get("request_start"):
        return
    slack = CLOCK_TOLERANCE_NS
    if exchange.first_ns and times["request_start"] > exchange.first_ns + slack:
        yield f"request_start is {_ms(times['request_start'] - exchange.first_ns)} after the tap had read of it"
    if "response_start" in times and exchange.answer_ns and times["response_start"] < exchange.answer_ns - slack:
        yield f"response_start is {_ms(exchange.answer_ns - times['response_start'])} before the tap began to answer"
    whole = exchange.answer is not None and exchange.answer.raw is None
    read = sample.reply["outcome"] == "response" and sample.request.get("read") != "none"
    bodiless = exchange.request.method == "HEAD"
    ended = times.get("response_end")
    if whole and read and not bodiless and ended is not None and ended < exchange.last_write_ns - slack:
        yield f"response_end is {_ms(exchange.last_write_ns - ended)} before the tap's last write"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f} ms"


# -- what a case expects -----------------------------------------------------------------------------------


def _expected(record: dict[str, Any], wanted: dict[str, Any], names: dict[str, str]) -> Iterable[str]:
    attempts = record.get("attempts") or [{}]
    last = attempts[-1]
    for phase in wanted.get("present", ()):
        if last.get(f"{phase}_ns") is None:
            yield f"the phase {phase} is absent"
    for phase in wanted.get("absent", ()):
        if last.get(f"{phase}_ns") is not None:
            yield f"the phase {phase} is there: {last[f'{phase}_ns']} ns"
    if "attempts" in wanted and not matches(len(record.get("attempts") or ()), wanted["attempts"]):
        yield f"{len(record.get('attempts') or ())} attempts, not {wanted['attempts']}"
    for name, value in wanted.get("fields", {}).items():
        value = expand(value, names) if isinstance(value, str) else value
        actual = last[name] if name in last else record.get(name)
        if not _field_matches(actual, value):
            yield f"{name} of the record is {actual!r}, not {value!r}"


def _last_attempts(samples: list[Sample]) -> list[dict[str, Any]]:
    records = [sample.reply["timing"] for sample in samples if sample.reply.get("timing") is not None]
    return [(record.get("attempts") or [{}])[-1] for record in records]


def cause_problems(samples: list[Sample], expect: dict[str, Any]) -> Iterable[str]:
    """Waits that have another cause than the tap's script gives them, in more than a quarter of the requests.

    The peer's timer for a delayed ACK runs while a client that lost the CPU between its writes does not: then nothing
    was held for long. That the cause fits the attempt's own numbers is held of each request (`_cause_problems`).
    """
    if "cause" not in expect.get("timing", {}):
        return
    wanted = expect["timing"]["cause"]
    causes = wanted if isinstance(wanted, list) else [wanted]
    last = _last_attempts(samples)
    others = [attempt for attempt in last if attempt.get("cause") not in causes]
    if len(others) > len(last) // 4:
        other = others[0]
        cause = f"{other.get('cause')}, not {either(causes)}: wait_ns {other.get('wait_ns')}, {other.get('kernel')}"
        yield f"the cause of the wait is {cause}, in {len(others)} of {len(last)} requests"


def bound_problems(samples: list[Sample], expect: dict[str, Any]) -> Iterable[str]:
    """Phases that are shorter or longer than the tap's script makes them, in more than a quarter of the requests.

    A client that waits for a timer waits each time; one that lost the CPU measured too much or too little once.
    """
    last = _last_attempts(samples)
    for phase, bounds in expect.get("timing", {}).get("bounds", {}).items():
        values = [attempt.get(f"{phase}_ns") for attempt in last]
        if None in values:
            yield f"the phase {phase} is absent in {values.count(None)} of {len(values)} records"
        known = [int(value) / 1e6 for value in values if value is not None]
        low, high = bounds.get("min_ms", 0), bounds.get("max_ms", float("inf"))
        outside = [value for value in known if not low <= value <= high]
        if len(outside) > len(known) // 4:
            took = ", ".join(f"{value:.3f}" for value in outside[:5])
            yield f"{phase} took {took} ms, not within {bounds}, in {len(outside)} of {len(known)} requests"


def _field_matches(actual: Any, wanted: Any) -> bool:
    if wanted == "$any":
        return actual is not None
    if isinstance(wanted, dict):
        return actual is not None and wanted.get("min", actual) <= actual <= wanted.get("max", actual)
    return bool(actual == wanted)


# -- sequences ---------------------------------------------------------------------------------------------


def sequence_problem(events: list[dict[str, Any]], pattern: list[Any]) -> str | None:
    """None when the events are the pattern's, else where the two part."""
    furthest = [0]

    def fits(at: int, item: int) -> bool:
        furthest[0] = max(furthest[0], at)
        if item == len(pattern):
            return at == len(events)
        wanted = pattern[item]
        if wanted == "*":
            return any(fits(next_at, item + 1) for next_at in range(at, len(events) + 1))
        optional = isinstance(wanted, str) and wanted.endswith("?")
        if at < len(events) and _event_matches(events[at], wanted) and fits(at + 1, item + 1):
            return True
        return optional and fits(at, item + 1)

    if fits(0, 0):
        return None
    names = " ".join(event["name"] for event in events)
    return f"the events part from the expected ones at number {furthest[0]}: {names}"


def _event_matches(event: dict[str, Any], wanted: Any) -> bool:
    if isinstance(wanted, str):
        return bool(event["name"] == wanted.rstrip("?"))
    return all(_field_matches(event.get(key), value) for key, value in wanted.items())
