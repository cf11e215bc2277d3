"""Judges what was seen by the rules OW1xx: times only beside the controls of the same run.

What could not be seen is skipped, never passed.
"""

from __future__ import annotations

from statistics import median

from onewrite_lab.stall import control_line

from onewrite_cli.check.cures import cure_for
from onewrite_cli.check.seen import Seen, SeenRequest
from onewrite_cli.common.outcome import FITS, Outcome, State, by_mode, controls_in_words
from onewrite_cli.common.rules import Rule, rule_named

__all__ = ["judge"]

PREFACE = "the client speaks HTTP/2, which is not judged"
HTTP2 = "the client offered HTTP/2 and the connection was not decrypted: HTTP/2 is not judged"


def judge(seen: Seen) -> list[Outcome]:
    """One outcome per rule, in their order."""
    outcomes = []
    for name, judged in (("OW101", _split), ("OW102", _nodelay), ("OW103", _records), ("OW105", _stall)):
        rule = rule_named(name)
        why = seen.unseen.get(name)
        outcomes.append(judged(rule, seen) if why is None else Outcome(rule, State.SKIPPED, why))
    return outcomes


def _cured(outcome: Outcome, requests: list[SeenRequest]) -> Outcome:
    """With the cure of the client that shows it, if it is a known one."""
    outcome.cure = cure_for(outcome.rule.id, [request.user_agent for request in requests]) or outcome.cure
    return outcome


def _countable(seen: Seen) -> tuple[list[SeenRequest], str]:
    """The requests whose pieces mean something, and why there are none."""
    if not seen.requests:
        return [], PREFACE if seen.http2 else "no request was seen"
    opened = [request for request in seen.requests if request.method or not request.connection.http2_offered]
    if not opened:
        return [], HTTP2
    fitting = [request for request in opened if request.size <= FITS and not request.expects_continue]
    if not fitting:
        return [], "every request was larger than 16 KiB or waited for 100 (Continue), and must be split"
    return fitting, ""


def _split(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.segments for request in requests if request.segments is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "segments could not be counted")
    outcome = by_mode(rule, counts, "segments", seen.resent_segments)
    split = [request for request in requests if (request.segments or 0) > 1]
    outcome.examples = [_named(request) for request in split[:3]]
    if outcome.state is State.FOUND and split and all(request.chunked for request in split):
        outcome.detail += "; the body is streamed (chunked): give it in one piece where it is small"
    if outcome.state is State.OK and not any(request.body_bytes for request in requests):
        return Outcome(rule, State.SKIPPED, "no request had a body, and only a body shows whether it leaves with its head")
    return _cured(outcome, split)


def _named(request: SeenRequest) -> str:
    size = f"{request.head_bytes}+{request.body_bytes} bytes" if request.head_bytes else f"{request.body_bytes} bytes"
    return f"{request.method or 'a request inside TLS'} {request.target} ({size}): {request.segments} segments"


def _nodelay(rule: Rule, seen: Seen) -> Outcome:
    known = [connection for connection in seen.connections if connection.nodelay is not None]
    if not known:
        return Outcome(rule, State.SKIPPED, "no connection's option could be read")
    off = [connection for connection in known if not connection.nodelay]
    blind = len(seen.connections) - len(known)
    note = f"; {blind} more could not be read" if blind else ""
    if off:
        changed = sum(connection.nodelay_changed for connection in off)
        word = f"it changes, and is off for a while on {changed} of them" if changed else "off at the first request"
        outcome = Outcome(rule, State.FOUND, f"{word}{note}", len(off), len(known), "connections")
        outcome.examples = [connection.peer for connection in off[:3]]
        return _cured(outcome, [request for request in seen.requests if not request.connection.nodelay])
    if blind > len(known):
        return Outcome(rule, State.SKIPPED, f"{blind} of {len(seen.connections)} connections could not be read")
    return Outcome(rule, State.OK, f"on{note}", 0, len(known), "connections")


def _records(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.records for request in requests if request.records is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "no request came over TLS", applies=bool(why))
    outcome = by_mode(rule, counts, "records", 0)
    return _cured(outcome, [request for request in requests if (request.records or 0) > 1])


def _stall(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    gaps = [(request, request.gap_ns) for request in requests]
    if not gaps:
        return Outcome(rule, State.SKIPPED, why)
    line_ns, beside, problem = control_line(seen.split_gaps_ns, seen.single_gaps_ns)
    if problem:
        return Outcome(rule, State.INCONCLUSIVE, f"{problem}: {beside}")
    beside = controls_in_words(seen.split_gaps_ns, seen.single_gaps_ns)
    silent = [(request, gap) for request, gap in gaps if gap >= line_ns]
    # With TCP_NODELAY on nothing is held: such a silence is the client's own.
    held = [(request, gap) for request, gap in silent if request.connection.nodelay is not True]
    if len(held) > len(gaps) // 10 or _late_are_those_in_pieces(held, gaps):
        cost_ms = round(median(gap for _, gap in held) / 1e6, 1)
        outcome = Outcome(rule, State.FOUND, f"{cost_ms} ms each ({beside})", len(held), len(gaps), cost_ms=cost_ms)
        outcome.examples = [_named(request) for request, _ in held[:3]]
        if all(request.connection.nodelay is None for request, _ in held):
            outcome.detail += "; TCP_NODELAY could not be read, and a client that pauses for as long shows the same"
        return _cured(outcome, [request for request, _ in held])
    own = len(silent) - len(held)
    note = f"; {own} were slow to write their body, with TCP_NODELAY on" if own else ""
    few = f"{len(held)} of {len(gaps)} came as late, which is rare enough to be the machine's" if held else "none"
    return Outcome(rule, State.OK, f"{few}{note} ({beside})", 0, len(gaps))


def _late_are_those_in_pieces(held: list[tuple[SeenRequest, int]], gaps: list[tuple[SeenRequest, int]]) -> bool:
    """Few requests are late, but they are those that were split, and those that were split are late."""
    split = sum((request.segments or 0) > 1 for request, _ in gaps)
    late = sum((request.segments or 0) > 1 for request, _ in held)
    return late >= 2 and late == len(held) and late * 2 >= split
