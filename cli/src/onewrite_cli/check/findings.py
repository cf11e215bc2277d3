"""Judges what was seen by the rules OW1xx.

Counts are judged by their mode, because the kernel may send a segment twice; times only beside the controls of the
same run. What could not be seen is skipped, never passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import median

from onewrite_lab.stall import control_line

from onewrite_cli.check.outcome import Outcome, State
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.rules import Rule, rule_named

__all__ = ["FITS", "by_mode", "judge"]

#: A TLS record holds 16 KiB (RFC 8446, 5.1), a loopback segment 32 KiB or more: what is larger must be split.
FITS = 16 * 1024
#: The share of the controls that must do what they are for.
PREFACE = "the client speaks HTTP/2, which is not judged"
HTTP2 = "the client offered HTTP/2 and the connection was not decrypted: HTTP/2 is not judged"


def judge(seen: Seen) -> list[Outcome]:
    """One outcome per rule, in their order."""
    judges: list[Callable[[Rule, Seen], Outcome]] = [_split, _nodelay, _records, _reuse, _stall]
    rules = [rule_named(f"OW10{number}") for number in range(1, 6)]
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
        return [], PREFACE if seen.http2 else "no request was seen"
    opened = [request for request in seen.requests if request.method or not request.connection.http2_offered]
    if not opened:
        return [], HTTP2
    fitting = [request for request in opened if request.size <= FITS and not request.expects_continue]
    if not fitting:
        return [], "every request was larger than 16 KiB or waited for 100 (Continue), and must be split"
    return fitting, ""


def by_mode(rule: Rule, counts: list[int], what: str, excuse: int, unit: str = "request") -> Outcome:
    """Found when most, or more than chance explains, need more than one."""
    mode = Counter(counts).most_common(1)[0][0]
    more = sum(count > 1 for count in counts)
    shown = ", ".join(f"{count} in {times}" for count, times in sorted(Counter(counts).items()))
    # The mode decides. A client that splits some of its requests, as when only one of its calls has a body, is found
    # too, unless the kernel sent as many segments twice.
    # Its counters are the whole host's, so they excuse a fifth of the requests at most.
    if mode > 1 or more > max(min(excuse, len(counts) // 5), len(counts) // 10):
        return Outcome(rule, State.FOUND, f"{what} per {unit}: {shown}", more, len(counts), f"{unit}s")
    note = f", {more} with more, which is rare enough to be the kernel's" if more else ""
    return Outcome(rule, State.OK, f"1 {what[:-1]} per {unit}{note}", 0, len(counts), f"{unit}s")


def _split(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.segments for request in requests if request.segments is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "segments could not be counted")
    outcome = by_mode(rule, counts, "segments", seen.resent_segments)
    split = [request for request in requests if (request.segments or 0) > 1]
    outcome.user_agents = [request.user_agent for request in split]
    outcome.examples = [_named(request) for request in split[:3]]
    if outcome.state is State.FOUND and split and all(request.chunked for request in split):
        outcome.detail += "; the body is streamed (chunked): give it in one piece where it is small"
    if outcome.state is State.OK and not any(request.body_bytes for request in requests):
        outcome.detail += "; no request had a body, and only a body shows whether it leaves with its head"
    return outcome


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
        word = f"changes, and is off for a while on {changed} of them" if changed else "off"
        outcome = Outcome(rule, State.FOUND, f"{word}{note}", len(off), len(known), "connections")
        outcome.user_agents = [request.user_agent for request in seen.requests if not request.connection.nodelay]
        outcome.examples = [connection.peer for connection in off[:3]]
        return outcome
    return Outcome(rule, State.OK, f"on{note}", 0, len(known), "connections")


def _records(rule: Rule, seen: Seen) -> Outcome:
    requests, why = _countable(seen)
    counts = [request.records for request in requests if request.records is not None]
    if not counts:
        return Outcome(rule, State.SKIPPED, why or "no request came over TLS")
    outcome = by_mode(rule, counts, "records", 0)
    outcome.user_agents = [request.user_agent for request in requests if (request.records or 0) > 1]
    return outcome


def _reuse(rule: Rule, seen: Seen) -> Outcome:
    """Connections for one request that were opened while another one was idle, run by run and peer by peer.

    An idle connection of another thread's client is none that could have been used, so where most connections carry
    several requests nothing is found.
    """
    opened: dict[tuple[int, str], list[SeenConnection]] = {}
    for connection in seen.connections:
        peer = connection.peer.partition(",")[0]
        opened.setdefault((connection.run, peer), []).append(connection)
    needless = total = compared = 0
    agents: list[str] = []
    for connections in opened.values():
        requests = [request for request in seen.requests if any(request.connection is one for one in connections)]
        if len(requests) < 2:
            continue
        compared += len(requests)
        total += len(connections)
        single = [connection for connection in connections if connection.requests == 1]
        if len(single) * 2 >= len(connections):
            needless += max(0, len(single) - _most_at_a_time(requests))
            agents += [request.user_agent for request in requests]
    if not compared:
        why = PREFACE if seen.http2 else "each run made one request: there was nothing to reuse a connection for"
        return Outcome(rule, State.SKIPPED, why)
    carried = f"{total} connection{'' if total == 1 else 's'} for {compared} requests"
    # Of a burst, some may be accepted late on a busy machine.
    if needless > total // 5:
        detail = f"{carried}; {needless} opened for one request while another connection was idle"
        outcome = Outcome(rule, State.FOUND, detail, needless, total, "connections")
        outcome.user_agents = agents
        return outcome
    return Outcome(rule, State.OK, carried, 0, total, "connections")


def _most_at_a_time(requests: list[SeenRequest]) -> int:
    """How many connections a client needs that takes an idle one first.

    A request needs its connection from the moment at which that was opened for it, until its answer begins.
    """
    moments = []
    for request in requests:
        own = request.connection
        begun = min(request.first_ns, own.accepted_ns) if own.requests == 1 and own.accepted_ns else request.first_ns
        moments += [(begun, 1), (request.answer_ns or request.first_ns, -1)]
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
    line_ns, beside, problem = control_line(split_gaps, control.single_gaps_ns)
    if problem:
        return Outcome(rule, State.INCONCLUSIVE, f"{problem}: {beside}")
    silent = [(request, gap) for request, gap in gaps if gap >= line_ns]
    # With TCP_NODELAY on nothing is held: such a silence is the client's own.
    held = [(request, gap) for request, gap in silent if request.connection.nodelay is not True]
    if len(held) > len(gaps) // 10 or _late_are_those_in_pieces(held, gaps):
        cost_ms = median(gap for _, gap in held) / 1e6
        outcome = Outcome(rule, State.FOUND, f"{cost_ms:.1f} ms each; {beside}", len(held), len(gaps))
        outcome.cost_ms = round(cost_ms, 1)
        outcome.examples = [_named(request) for request, _ in held[:3]]
        outcome.user_agents = [request.user_agent for request, _ in held]
        return outcome
    own = len(silent) - len(held)
    note = f"; {own} were slow to write their body, with TCP_NODELAY on" if own else ""
    few = f"{len(held)} of {len(gaps)} came as late, which is rare enough to be the machine's" if held else "none"
    return Outcome(rule, State.OK, f"{few}{note}; {beside}", 0, len(gaps))


def _late_are_those_in_pieces(held: list[tuple[SeenRequest, int]], gaps: list[tuple[SeenRequest, int]]) -> bool:
    """Few requests are late, but they are those that were split, and those that were split are late."""
    split = sum((request.segments or 0) > 1 for request, _ in gaps)
    late = sum((request.segments or 0) > 1 for request, _ in held)
    return late >= 2 and late == len(held) and late * 2 >= split
