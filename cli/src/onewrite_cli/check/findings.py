"""Judges what was seen by the six rules.

Counts are judged by their mode, because the kernel may send a segment twice; times only beside the controls of the
same run. What could not be seen is skipped, never passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import median

from onewrite_cli.check.outcome import Outcome, State
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.rules import Rule, rule_named

__all__ = ["judge"]

#: A TLS record holds 16 KiB (RFC 8446, 5.1), a loopback segment 32 KiB or more: what is larger must be split.
FITS = 16 * 1024
#: Methods that may be repeated at will (RFC 9110, 9.2.2).
IDEMPOTENT = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", ""}
#: The share of the controls that must do what they are for.
CONVINCED = 0.6
HTTP2 = "the client offered HTTP/2 and the connection was not decrypted: HTTP/2 is not judged"


def judge(seen: Seen) -> list[Outcome]:
    """One outcome per rule, in their order."""
    judges: list[Callable[[Rule, Seen], Outcome]] = [_split, _nodelay, _records, _reuse, _stall, _twice]
    rules = [rule_named(f"OW10{number}") for number in range(1, 7)]
    outcomes = []
    for rule, judged in zip(rules, judges, strict=True):
        if rule.id in seen.unseen:
            outcomes.append(Outcome(rule, State.SKIPPED, seen.unseen[rule.id]))
            continue
        outcome = judged(rule, seen)
        outcome.witness = outcome.witness or seen.witness
        outcomes.append(outcome)
    return outcomes


def _countable(seen: Seen) -> tuple[list[SeenRequest], str]:
    """The requests whose pieces mean something, and why there are none."""
    if not seen.requests:
        return [], "no request was seen"
    opened = [request for request in seen.requests if request.method or not request.connection.http2_offered]
    if not opened:
        return [], HTTP2
    fitting = [request for request in opened if request.size <= FITS and not request.expects_continue]
    if not fitting:
        return [], "every request was larger than 16 KiB or waited for 100 (Continue), and must be split"
    return fitting, ""


def _by_mode(rule: Rule, counts: list[int], what: str, excuse: int) -> Outcome:
    mode = Counter(counts).most_common(1)[0][0]
    more = sum(count > 1 for count in counts)
    shown = ", ".join(f"{count} in {times}" for count, times in sorted(Counter(counts).items()))
    # The mode decides. A client that splits some of its requests, as when only one of its calls has a body, is found
    # too, unless the kernel sent as many segments twice.
    # Its counters are the whole host's, so they excuse a fifth of the requests at most.
    if mode > 1 or more > max(min(excuse, len(counts) // 5), len(counts) // 10):
        return Outcome(rule, State.FOUND, f"{what} per request: {shown}", more, len(counts))
    note = f", {more} with more, which is rare enough to be the kernel's" if more else ""
    return Outcome(rule, State.OK, f"1 {what[:-1]} per request{note}", 0, len(counts))


def _split(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.pieces for request in requests if request.pieces is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or f"{seen.pieces_are} could not be counted")
    outcome = _by_mode(rule, counts, seen.pieces_are, seen.resent_segments)
    split = [request for request in requests if (request.pieces or 0) > 1]
    outcome.examples = [_named(request) for request in split[:3]]
    if outcome.state is State.FOUND and split and all(request.chunked for request in split):
        outcome.detail += "; the body is streamed (chunked): give it in one piece where it is small"
    if outcome.state is State.OK and not any(request.body_bytes for request in requests):
        outcome.detail += "; no request had a body, and only a body shows whether it leaves with its head"
    return outcome


def _named(request: SeenRequest) -> str:
    size = f"{request.head_bytes}+{request.body_bytes} bytes" if request.head_bytes else f"{request.body_bytes} bytes"
    return f"{request.method or 'a request inside TLS'} {request.target} ({size}): {request.pieces} pieces"


def _nodelay(rule: Rule, seen: Seen) -> Outcome:
    known = [connection for connection in seen.connections if connection.nodelay is not None]
    if not known:
        return Outcome(rule, State.SKIPPED, "no connection's option could be read")
    off = [connection for connection in known if not connection.nodelay]
    blind = len(seen.connections) - len(known)
    note = f"; {blind} more could not be read" if blind else ""
    if off:
        outcome = Outcome(rule, State.FOUND, f"off{note}", len(off), len(known), "connections")
        outcome.examples = [connection.peer for connection in off[:3]]
        return outcome
    return Outcome(rule, State.OK, f"on{note}", 0, len(known), "connections")


def _records(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.records for request in requests if request.records is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "no request came over TLS")
    return _by_mode(rule, counts, "records", 0)


def _reuse(rule: Rule, seen: Seen) -> Outcome:
    """Connections that carried one request, beyond the most that were busy at one time, run by run and peer by peer.

    An idle connection of another thread's client is none that could have been used, so those that carried several do
    not count against anyone.
    """
    opened: dict[tuple[int, str], list[SeenConnection]] = {}
    for connection in seen.connections:
        peer = connection.peer.partition(",")[0]
        opened.setdefault((connection.run, peer), []).append(connection)
    needless = total = compared = 0
    for connections in opened.values():
        requests = [request for request in seen.requests if any(request.connection is one for one in connections)]
        if len(requests) < 2:
            continue
        compared += len(requests)
        total += len(connections)
        single = sum(connection.requests == 1 for connection in connections)
        if single * 2 >= len(connections):
            needless += max(0, single - _busiest(requests))
    if not compared:
        return Outcome(rule, State.SKIPPED, "each run made one request: there was nothing to reuse a connection for")
    carried = f"{total} connection{'' if total == 1 else 's'} for {compared} requests"
    if needless:
        return Outcome(rule, State.FOUND, f"{carried}, most of them for one", needless, total, "connections")
    return Outcome(rule, State.OK, carried, 0, total, "connections")


def _busiest(requests: list[SeenRequest]) -> int:
    """The most requests that were under way at the same time."""
    moments = []
    for request in requests:
        moments += [(request.first_ns, 1), (request.answered_ns or request.last_ns, -1)]
    busy = most = 0
    for _, change in sorted(moments):
        busy += change
        most = max(most, busy)
    return max(1, most)


def _stall(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    gaps = [(request, request.gap_ns) for request in requests if request.gap_ns is not None]
    if not gaps:
        return Outcome(rule, State.SKIPPED, why or "the times within requests could not be seen")
    control = seen.control
    if control is None or not control.split_gaps_ns or not control.single_gaps_ns:
        return Outcome(rule, State.INCONCLUSIVE, "there is no control to compare with")
    # A command that connects anew for each request is compared with a control that does so.
    fresh = sum(request.nth == 0 for request, _ in gaps) * 2 > len(gaps)
    split_gaps = control.fresh_gaps_ns if fresh and control.fresh_gaps_ns else control.split_gaps_ns
    sick_ns, well_ns = median(split_gaps), median(control.single_gaps_ns)
    line_ns = sick_ns / 2
    stalled = sum(gap >= line_ns for gap in split_gaps)
    late = sum(gap >= line_ns for gap in control.single_gaps_ns)
    beside = f"the client that splits with Nagle on lost {sick_ns / 1e6:.1f} ms, the one that writes once {well_ns / 1e6:.1f} ms"
    if sick_ns < 20 * max(well_ns, 100_000):
        return Outcome(rule, State.INCONCLUSIVE, f"the control did not stall: {beside}")
    if stalled < CONVINCED * len(split_gaps):
        often = f"the control stalled in {stalled} of {len(split_gaps)} requests only"
        return Outcome(rule, State.INCONCLUSIVE, f"{often}: {beside}")
    if late > (1 - CONVINCED) * len(control.single_gaps_ns):
        return Outcome(rule, State.INCONCLUSIVE, f"too noisy: {beside}")
    silent = [(request, gap) for request, gap in gaps if gap >= line_ns]
    # With TCP_NODELAY on nothing is held: such a silence is the client's own.
    held = [(request, gap) for request, gap in silent if request.connection.nodelay is not True]
    if len(held) > len(gaps) // 10:
        cost_ms = median(gap for _, gap in held) / 1e6
        outcome = Outcome(rule, State.FOUND, f"{cost_ms:.1f} ms each; {beside}", len(held), len(gaps))
        outcome.cost_ms = round(cost_ms, 1)
        outcome.examples = [_named(request) for request, _ in held[:3]]
        return outcome
    own = len(silent) - len(held)
    note = f"; {own} were slow to write their body, with TCP_NODELAY on" if own else ""
    return Outcome(rule, State.OK, f"none{note}; {beside}", 0, len(gaps))


def _twice(rule: Rule, seen: Seen) -> Outcome:
    """Copies of a request whose first one never got an answer. Equal requests that were answered are two requests."""
    known = [request for request in seen.requests if request.digest is not None]
    if not known:
        return Outcome(rule, State.SKIPPED, "requests inside an unopened connection cannot be compared")
    unanswered = {(request.connection.run, request.digest): request for request in known if request.answered_ns is None}
    if not unanswered:
        return Outcome(rule, State.SKIPPED, "every request was answered, so none had to be repeated (try --lose-answer)")
    again = [
        request
        for request in known
        if (lost := unanswered.get((request.connection.run, request.digest))) is not None
        and request is not lost
        and request.first_ns > lost.first_ns
    ]
    twice = [request for request in again if request.method not in IDEMPOTENT]
    harmless = len(again) - len(twice)
    note = f"; {harmless} that may be repeated came again" if harmless else ""
    if twice:
        detail = f"came again after {len(unanswered)} without an answer{note}"
        outcome = Outcome(rule, State.FOUND, detail, len(twice), len(known))
        outcome.examples = [f"{request.method} {request.target}" for request in twice[:3]]
        return outcome
    return Outcome(rule, State.OK, f"{len(unanswered)} without an answer, none came again{note}", 0, len(known))
