"""Judges what was seen by the rules OW1xx: times only beside the controls of the same run.

What could not be seen is skipped, never passed.
"""

from __future__ import annotations

from onewrite_lab.stall import control_line

from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.common.outcome import FITS, Outcome, State, by_mode
from onewrite_cli.common.rules import Rule, rule_named
from onewrite_cli.common.stalls import judge_stall

__all__ = ["judge"]

PREFACE = "the client speaks HTTP/2, which is not judged"
TUNNELS = "the proxy decrypts no TLS of others: write {https_url}, which the tool serves, in place of the service's URL"
OWN_PROXY = (
    "; on connections to the tool's own proxy. Your environment names none, and directly the client may behave otherwise: "
    "write {url} in place of the service's URL"
)


def judge(seen: Seen) -> list[Outcome]:
    """One outcome per rule, in their order."""
    outcomes = []
    for name, judged in (("OW101", _split), ("OW102", _nodelay), ("OW103", _records), ("OW105", _stall)):
        rule = rule_named(name)
        why = seen.unseen.get(name)
        outcomes.append(judged(rule, seen) if why is None else Outcome(rule, State.SKIPPED, why))
    return outcomes


def _why_none(seen: Seen) -> str:
    if seen.requests:
        return "every request was larger than 16 KiB or waited for 100 (Continue), and must be split"
    return PREFACE if seen.http2 else TUNNELS if seen.tunnels else "no request was seen"


def _whole(seen: Seen) -> list[SeenRequest]:
    """The requests that could leave in one piece."""
    return [request for request in seen.requests if request.size <= FITS and not request.expects_continue]


def _split(rule: Rule, seen: Seen) -> Outcome:
    fitting = _whole(seen)
    if not fitting:
        return Outcome(rule, State.SKIPPED, _why_none(seen))
    known = [request for request in fitting if request.segments is not None]
    counted = [request for request in known if request.has_body or (request.segments or 0) > 1]
    if not counted:
        why = "no request had a body, and only a body shows whether it leaves with its head"
        return Outcome(rule, State.SKIPPED, why if known else "segments could not be counted")
    outcome = by_mode(rule, [request.segments or 0 for request in counted], "segments", seen.resent_segments)
    split = [request for request in counted if (request.segments or 0) > 1]
    outcome.examples = [_named(request) for request in split[:3]]
    if outcome.state is State.FOUND and all(request.chunked for request in split):
        outcome.detail += "; the body is streamed (chunked): give it in one piece where it is small"
    return outcome


def _named(request: SeenRequest) -> str:
    size = f"{request.head_bytes}+{request.body_bytes} bytes"
    return f"{request.method} {request.path} ({size}): {request.segments} segments"


def _nodelay(rule: Rule, seen: Seen) -> Outcome:
    known = [connection for connection in seen.connections if connection.nodelay is not None]
    if not known:
        return Outcome(rule, State.SKIPPED, "no connection's option could be read")
    written_with = {id(connection) for connection in known if not connection.nodelay and _did_not_wait(connection, seen)}
    off = [connection for connection in known if not connection.nodelay and id(connection) not in written_with]
    blind = len(seen.connections) - len(known)
    note = f"; {blind} more could not be read" if blind else ""
    if off:
        outcome = Outcome(rule, State.FOUND, f"off when the first request had come{note}", len(off), len(known), "connections")
        outcome.examples = [connection.peer for connection in off[:3]]
        return _of_own_proxy(outcome) if all(connection.own_proxy for connection in off) else outcome
    if blind > len(known):
        return Outcome(rule, State.SKIPPED, f"{blind} of {len(seen.connections)} connections could not be read")
    between = f"; off after the writes of {len(written_with)}, whose pieces did not wait" if written_with else ""
    return Outcome(rule, State.OK, f"on{note}{between}", 0, len(known), "connections")


def _of_own_proxy(outcome: Outcome) -> Outcome:
    outcome.own_proxy = True
    what = f"{outcome.count} of {outcome.of} {outcome.unit} lose " if outcome.rule.is_stall else ""
    outcome.detail = f"{what}{outcome.detail}{OWN_PROXY}"
    return outcome


def _did_not_wait(connection: SeenConnection, seen: Seen) -> bool:
    """True if the option was on while most split requests were written: their pieces came before any ACK."""
    line_ns, _, problem = control_line(seen.controls.split_ns, seen.controls.whole_ns)
    split = [one for one in _whole(seen) if one.connection is connection and (one.segments or 0) > 1]
    waited = sum(max(one.gap_ns, one.lost_ns) > line_ns for one in split)
    return not problem and waited * 2 < len(split)


def _records(rule: Rule, seen: Seen) -> Outcome:
    fitting = _whole(seen)
    if not fitting:
        return Outcome(rule, State.SKIPPED, _why_none(seen))
    counts = [request.records for request in fitting if request.records is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, "no request came over TLS", applies=False)
    return by_mode(rule, counts, "records", 0)


def _stall(rule: Rule, seen: Seen) -> Outcome:
    if not seen.requests:
        return Outcome(rule, State.SKIPPED, _why_none(seen))
    groups = [[one for one in seen.requests if one.connection.own_proxy is own] for own in (False, True)]
    judged = [_stall_of(rule, requests, seen) if requests else None for requests in groups]
    outcome, by_own_proxy = judged
    if by_own_proxy and (outcome is None or (by_own_proxy.state is State.FOUND and outcome.state is not State.FOUND)):
        return _of_own_proxy(by_own_proxy) if by_own_proxy.state is State.FOUND else by_own_proxy
    assert outcome is not None
    return outcome


def _stall_of(rule: Rule, requests: list[SeenRequest], seen: Seen) -> Outcome:
    outcome, held = judge_stall(rule, requests, "request", "client", seen.controls)
    outcome.examples = [_named(request) for request in held[:3]]
    if held and all(request.first and request.records is None for request in held):
        outcome.detail += "; each on a new connection, which most servers acknowledge at once: it stalls here and at HAProxy"
    return outcome
