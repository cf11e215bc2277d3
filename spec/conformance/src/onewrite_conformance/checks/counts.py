"""Checks that count: segments, records, writes, connections, and the options of sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.verdict import Verdict, either, matches

__all__ = ["judge_mode", "judge_run", "judge_step", "sent_once"]


def _option_problems(seen: Observation) -> Iterable[str]:
    """Socket options that the user named, read back from the client's sockets."""
    for option in seen.run.case.open.get("socket_options") or ():
        name, wanted = option["name"], option["value"]
        for arrival in seen.arrivals:
            actual = arrival.client_options.get(name)
            # Boolean options read back as any number that is not 0.
            if actual is not None and (bool(actual) != bool(wanted) if wanted in (0, 1) else actual != wanted):
                yield f"the user's {name} = {wanted} is {actual} on connection {arrival.index}"


def judge_run(seen: Observation, verdict: Verdict) -> None:
    expect = seen.run.expect()
    problems = verdict.problems
    problems += _option_problems(seen)
    if "connections" in expect and not matches(len(seen.arrivals), expect["connections"]):
        problems.append(f"{len(seen.arrivals)} connections, not {either(expect['connections'])}")
    if "requests" in expect and not matches(len(seen.exchanges), expect["requests"]):
        problems.append(f"{len(seen.exchanges)} requests arrived, not {either(expect['requests'])}")
    if "nodelay" in expect:
        served = [arrival for arrival in seen.arrivals if arrival.exchanges]
        known = [arrival for arrival in served if arrival.nodelay is not None]
        wrong = [arrival for arrival in known if arrival.nodelay != expect["nodelay"]]
        if wrong:
            state = "on" if wrong[0].nodelay else "off"
            text = f"TCP_NODELAY is {state} on {len(wrong)} of {len(known)} connections"
            problems.append(text)
        elif not known and served:
            verdict.doubts.append(f"TCP_NODELAY could not be read from outside: {seen.witness_fault}")
    if "nodelay_at_hello" in expect and seen.run.scheme == "https":
        _nodelay_at_hello(seen, expect["nodelay_at_hello"], verdict)
    if seen.left_open:
        text = f"{seen.left_open} of {len(seen.arrivals)} connections are open after the client was closed"
        problems.append(text)
    for name, count in seen.warnings.items():
        if count != 1:
            problems.append(f"{count} lines of the driver's stderr warn of {name}, not one")


def _nodelay_at_hello(seen: Observation, wanted: bool, verdict: Verdict) -> None:
    known = [arrival for arrival in seen.arrivals if arrival.nodelay_at_hello is not None]
    wrong = [arrival for arrival in known if arrival.nodelay_at_hello != wanted]
    if wrong:
        state = "on" if wrong[0].nodelay_at_hello else "off"
        said = f"TCP_NODELAY is {state} at the ClientHello on {len(wrong)} of {len(known)} connections"
        verdict.problems.append(said)
    elif not known:
        verdict.doubts.append(f"TCP_NODELAY could not be read at the ClientHello: {seen.witness_fault}")


def judge_step(seen: Observation, step: int, expect: dict[str, Any], verdict: Verdict) -> None:
    exchanges = [exchange for exchange in seen.counted_exchanges(step) if exchange.complete]
    samples = [sample for sample in seen.counted if sample.step == step]
    if "outcomes" in expect:
        outcomes = dict(Counter(sample.reply["outcome"] for sample in samples))
        if outcomes != expect["outcomes"]:
            verdict.problems.append(f"the outcomes are {outcomes}, not {expect['outcomes']}")
    if "segments" in expect:
        segments = [sent_once(exchange.segments, exchange.sent_twice, expect["segments"]) for exchange in exchanges]
        judge_mode("segments", segments, expect["segments"], verdict, excuse=seen.loss.total)
    if "records" in expect and seen.run.scheme == "https":
        records = [exchange.records for exchange in exchanges]
        judge_mode("TLS records", records, expect["records"], verdict)
    if "first_record_bytes" in expect and seen.run.scheme == "https":
        sizes = [exchange.first_record_bytes for exchange in exchanges]
        wanted = expect["first_record_bytes"]
        judge_mode("bytes in the first record", sizes, wanted, verdict)
    if "tcp_info" in seen.capabilities:
        for name, wanted in expect.get("timing", {}).get("kernel", {}).items():
            _evidence(seen, samples, name, wanted, verdict)
    if "first_segment" in expect:
        joined = [len(exchange.first_piece) > len(exchange.request.head) for exchange in exchanges]
        wanted = expect["first_segment"] == "head_and_body"
        if joined and joined.count(wanted) * 2 <= len(joined):
            text = f"the first bytes held {'head and body' if not wanted else 'the head alone'}"
            verdict.problems.append(text)
    if "reused" in expect:
        reused = [exchange.nth_on_connection > 0 for exchange in exchanges]
        if any(value != expect["reused"] for value in reused):
            word = "fresh" if expect["reused"] else "used before"
            text = f"{reused.count(not expect['reused'])} requests came on a connection {word}"
            verdict.problems.append(text)


def sent_once(segments: int | None, twice: int, wanted: Any) -> int | None:
    """The count less segments that the client's kernel sent again, at most `twice`, if that is the wanted count."""
    fewer = range(0 if segments is None else segments, (segments or 0) - twice - 1, -1)
    return next((count for count in fewer if matches(count, wanted)), segments)


def _evidence(seen: Observation, samples: list[Sample], name: str, wanted: Any, verdict: Verdict) -> None:
    """A number of the kernel's evidence, by its mode."""
    values = [(((sample.reply.get("records") or [{}])[-1]).get("kernel") or {}).get(name) for sample in samples]
    if None in values:
        text = f"{values.count(None)} of {len(values)} records have no {name}"
        verdict.problems.append(text)
    judge_mode(f"{name} by the kernel's evidence", values, wanted, verdict, excuse=seen.loss.total)


def judge_mode(what: str, values: list[Any], wanted: Any, verdict: Verdict, excuse: int = 0) -> None:
    """Judge by the mode; odd counts need an excuse: segments that the kernel sent twice.

    The counters behind the excuse are the whole host's, so on a busy machine they would excuse a client that splits
    any number of its requests. They excuse a fifth of the requests at most, as in the command line tool. Where the
    client's socket could be read, its segments were taken off before (`sent_once`).
    """
    known = [value for value in values if value is not None]
    if not known:
        if values:
            verdict.doubts.append(f"{what}: could not be counted")
        return
    counts = Counter(known).most_common()
    if not matches(counts[0][0], wanted):
        seen = ", ".join(f"{value} in {count}" for value, count in counts[:4])
        text = f"{what}: {counts[0][0]}, not {either(wanted)} (of {len(known)} requests: {seen})"
        verdict.problems.append(text)
        return
    odd = [value for value in known if not matches(value, wanted)]
    if len(odd) > min(excuse, len(known) // 5):
        said = f"{what}: mode {counts[0][0]}, but also {odd[:5]} in {len(odd)} of {len(known)} requests"
        text = f"{said} with {excuse} segments sent twice, which excuse {len(known) // 5} at most"
        verdict.problems.append(text)
    elif odd:
        verdict.notes.append(f"{what}: {odd[:5]} beside the mode, explained by {excuse} segments sent twice")
