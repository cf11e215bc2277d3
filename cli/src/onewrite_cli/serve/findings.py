"""Judges answers by the rules OW2xx."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from onewrite_lab.stall import CONTROL_SHARE, control_line, is_clean

from onewrite_cli.common.outcome import FITS, Outcome, State, by_mode, controls_in_words
from onewrite_cli.common.response import Answered
from onewrite_cli.common.rules import Rule, rule_named

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
    if outcome.state is State.OK and not any(one.body_bytes for one in fitting):
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
    """The tail of an answer comes late with delayed ACKs, and at once with quick ones."""
    delayed = [one for one in seen.answers if not one.quick]
    quick = [one for one in seen.answers if one.quick]
    if not delayed or not quick:
        return Outcome(rule, State.SKIPPED, "no answer came", unit="answers")
    line_ns, beside, problem = control_line(seen.split_tails_ns, seen.single_tails_ns)
    if problem:
        return Outcome(rule, State.INCONCLUSIVE, f"{problem}: {beside}", unit="answers")
    beside = controls_in_words(seen.split_tails_ns, seen.single_tails_ns)
    corked = [one for one in seen.answers if one.corked_ns > line_ns]
    if not is_clean(len(corked), len(seen.answers)):
        cost_ms = round(median(one.corked_ns for one in corked) / 1e6, 1)
        detail = f"{cost_ms} ms each, held by MSG_MORE or TCP_CORK in the server ({beside})"
        cure = "no MSG_MORE or TCP_CORK without a flush behind the last piece of an answer"
        return Outcome(rule, State.FOUND, detail, len(corked), len(seen.answers), "answers", cost_ms=cost_ms, cure=cure)
    late = [one for one in delayed if one.tail_ns > line_ns]
    slow = sum(one.tail_ns > line_ns for one in quick)
    if slow > (1 - CONTROL_SHARE) * len(quick):
        detail = f"answers come as slowly with quick ACKs ({slow} of {len(quick)}): the server is slow, which hides a stall"
        return Outcome(rule, State.SKIPPED, detail, unit="answers")
    if not is_clean(len(late), len(delayed)):
        cost_ms = round(median(one.tail_ns for one in late) / 1e6, 1)
        few = f"{slow} of {len(quick)}" if slow else "none"
        detail = f"{cost_ms} ms each, {few} with quick ACKs ({beside})"
        return Outcome(rule, State.FOUND, detail, len(late), len(delayed), "answers", cost_ms=cost_ms)
    few = f"{len(late)} of {len(delayed)} came as late, which is rare enough to be the machine's" if late else "none"
    return Outcome(rule, State.OK, f"{few} ({beside})", 0, len(delayed), "answers")
