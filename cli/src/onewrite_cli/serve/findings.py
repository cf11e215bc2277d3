"""Judges answers by the rules OW2xx."""

from __future__ import annotations

from dataclasses import dataclass, field

from onewrite_cli.common.outcome import FITS, Outcome, State, by_mode
from onewrite_cli.common.response import Answered
from onewrite_cli.common.rules import Rule, rule_named
from onewrite_cli.common.stalls import is_blind, judge_stall

__all__ = ["Observed", "Process", "judge"]


@dataclass(frozen=True)
class Process:
    """The owner of an accepted connection, and its TCP_NODELAY."""

    pid: int
    name: str
    nodelay: bool


@dataclass
class Observed:
    """All that was seen of a server. `accepted` has an entry per connection whose socket could be read."""

    answers: list[Answered] = field(default_factory=list)
    connections: int = 0
    searched: int = 0  # connections whose accepted socket was searched for
    accepted: list[Process] = field(default_factory=list)
    unread: str | None = None  # why accepted sockets could not be read
    split_tails_ns: list[int] = field(default_factory=list)  # of the control that splits with Nagle on
    single_tails_ns: list[int] = field(default_factory=list)
    resent_segments: int = 0


def judge(seen: Observed) -> list[Outcome]:
    """One outcome per rule, in their order."""
    return [judged(rule_named(name), seen) for name, judged in (("OW201", _split), ("OW202", _nodelay), ("OW205", _stall))]


def _split(rule: Rule, seen: Observed) -> Outcome:
    fitting = [one for one in seen.answers if one.bytes <= FITS and one.segments is not None]
    if not fitting:
        why = "every answer was larger than 16 KiB, and must be split" if seen.answers else "no answer came"
        return Outcome(rule, State.SKIPPED, why, unit="answers")
    outcome = by_mode(rule, [one.segments or 0 for one in fitting], "segments", seen.resent_segments, "answer")
    if outcome.state is State.OK and not any(one.response.body[0] for one in fitting):
        why = "no answer had a body, and only a body shows whether it leaves with its head: name a path with --path"
        return Outcome(rule, State.SKIPPED, why, unit="answers")
    outcome.examples = [f"{one.bytes} bytes in {one.segments} segments" for one in fitting if (one.segments or 0) > 1][:3]
    return outcome


def _nodelay(rule: Rule, seen: Observed) -> Outcome:
    off = [one for one in seen.accepted if not one.nodelay]
    processes = len({one.pid for one in seen.accepted})
    blind = seen.searched - len(seen.accepted)
    where = f"{processes} process{'' if processes == 1 else 'es'}" + (f"; {blind} could not be read" if blind else "")
    if off:
        outcome = Outcome(rule, State.FOUND, f"in {where}", len(off), len(seen.accepted), "connections")
        outcome.examples = [f"{one.name} (pid {one.pid})" for one in {one.pid: one for one in off}.values()][:3]
        return outcome
    if len(seen.accepted) * 2 < seen.searched or not seen.accepted:
        why = seen.unread or "no accepted socket could be read"
        return Outcome(rule, State.SKIPPED, f"{len(seen.accepted)} of {seen.searched} sockets: {why}", unit="connections")
    return Outcome(rule, State.OK, f"on, in {where}", 0, len(seen.accepted), "connections")


def _stall(rule: Rule, seen: Observed) -> Outcome:
    delayed, quick = ([one for one in seen.answers if one.quick is kind] for kind in (False, True))
    if not delayed or not quick:
        return Outcome(rule, State.SKIPPED, "no answer came", unit="answers")
    controls = seen.split_tails_ns, seen.single_tails_ns
    outcome, held = judge_stall(rule, delayed, "answer", "server", *controls)
    if held and is_blind(delayed):  # only an answer that waits for a delayed ACK is prompt with quick ones
        slow, slow_held = judge_stall(rule, quick, "answer", "server", *controls)
        if slow_held:
            detail = f"answers come as late with quick ACKs ({slow.count} of {slow.of}): the server is slow, which hides a stall"
            return Outcome(rule, State.SKIPPED, detail, unit="answers")
    return outcome
