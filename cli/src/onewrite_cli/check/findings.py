"""Judges what was seen by the rules OW1xx: times only beside the controls of the same run.

What could not be seen is skipped, never passed.
"""

from __future__ import annotations

from onewrite_lab.stall import control_line

from onewrite_cli.check.cures import cure_for
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.common.outcome import FITS, Outcome, State, by_mode
from onewrite_cli.common.rules import Rule, rule_named
from onewrite_cli.common.stalls import is_blind, judge_stall

__all__ = ["judge"]

PREFACE = "the client speaks HTTP/2, which is not judged"
TUNNELS = "the proxy decrypts no TLS of others: write {https_url}, which the tool serves, in place of the service's URL"


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
        return [], PREFACE if seen.http2 else TUNNELS if seen.tunnels else "no request was seen"
    fitting = [request for request in seen.requests if request.size <= FITS and not request.expects_continue]
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
    size = f"{request.head_bytes}+{request.body_bytes} bytes"
    return f"{request.method} {request.target} ({size}): {request.segments} segments"


def _nodelay(rule: Rule, seen: Seen) -> Outcome:
    known = [connection for connection in seen.connections if connection.nodelay is not None]
    if not known:
        return Outcome(rule, State.SKIPPED, "no connection's option could be read")
    written_with = {id(connection) for connection in known if not connection.nodelay and _did_not_wait(connection, seen)}
    off = [connection for connection in known if not connection.nodelay and id(connection) not in written_with]
    blind = len(seen.connections) - len(known)
    note = f"; {blind} more could not be read" if blind else ""
    if off:
        changed = sum(connection.nodelay_changed for connection in off)
        word = f"it changes, and is off for a while on {changed} of them" if changed else "off when the first request had come"
        outcome = Outcome(rule, State.FOUND, f"{word}{note}", len(off), len(known), "connections")
        outcome.examples = [connection.peer for connection in off[:3]]
        return _cured(outcome, [request for request in seen.requests if not request.connection.nodelay])
    if blind > len(known):
        return Outcome(rule, State.SKIPPED, f"{blind} of {len(seen.connections)} connections could not be read")
    between = f"; off after the writes of {len(written_with)}, whose pieces did not wait" if written_with else ""
    return Outcome(rule, State.OK, f"on{note}{between}", 0, len(known), "connections")


def _did_not_wait(connection: SeenConnection, seen: Seen) -> bool:
    """True if the option was on while most split requests were written: their pieces came before any ACK."""
    line_ns, _, problem = control_line(seen.split_gaps_ns, seen.single_gaps_ns)
    split = [one for one in seen.requests if one.connection is connection and (one.segments or 0) > 1 and one.size <= FITS]
    waited = sum(max(one.gap_ns, one.lost_ns) > line_ns for one in split)
    return not problem and waited * 2 < len(split)


def _records(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.records for request in requests if request.records is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "no request came over TLS", applies=bool(why))
    outcome = by_mode(rule, counts, "records", 0)
    return _cured(outcome, [request for request in requests if (request.records or 0) > 1])


def _stall(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    if not requests:
        return Outcome(rule, State.SKIPPED, why)
    outcome, held = judge_stall(rule, requests, "request", "client", seen.split_gaps_ns, seen.single_gaps_ns)
    outcome.examples = [_named(request) for request in held[:3]]
    if not held or outcome.cure != rule.cure:
        return outcome
    if is_blind(requests):
        outcome.detail += "; the client's sockets could not be read, and a client that pauses for as long shows the same"
    if all(request.first and request.records is None for request in held):
        outcome.detail += "; each on a new connection, which most servers acknowledge at once: it stalls here and at HAProxy"
    return _cured(outcome, held)
