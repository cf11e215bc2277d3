"""Whether requests or answers stall: only what their sender's kernel held counts, beside the controls of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from onewrite_lab.stall import control_line, is_clean

from onewrite_cli.common.holds import IN_WORDS, Hold
from onewrite_cli.common.outcome import Outcome, State
from onewrite_cli.common.rules import Rule

__all__ = ["Message", "is_blind", "judge_stall"]


@dataclass(kw_only=True)
class Message:
    """A request or an answer. `segments`, `nodelay` and `held` are None where they could not be read."""

    segments: int | None = None
    nodelay: bool | None = None  # of its sender
    gap_ns: int = 0  # the longest silence between two pieces
    held: Hold | None = None  # in the sender's kernel

    @property
    def lost_ns(self) -> int:
        """What the kernel held. Where that was not read, a silence counts that it could have caused."""
        if self.held is not None:
            return self.held.ns
        return 0 if self.nodelay or self.segments == 1 else self.gap_ns


AnyMessage = TypeVar("AnyMessage", bound=Message)


def is_blind(messages: Sequence[Message]) -> bool:
    """True where no socket of the sender could be read."""
    return all(one.nodelay is None for one in messages)


def judge_stall(
    rule: Rule, messages: Sequence[AnyMessage], unit: str, sender: str, split_ns: list[int], single_ns: list[int]
) -> tuple[Outcome, list[AnyMessage]]:
    """The outcome, and the messages that stalled. `split_ns` and `single_ns` are the controls' silences."""
    line_ns, beside, problem = control_line(split_ns, single_ns)
    if problem:
        return Outcome(rule, State.INCONCLUSIVE, f"{problem}: {beside}", unit=f"{unit}s"), []
    beside = f"controls: split {median(split_ns) / 1e6:.1f}, whole {median(single_ns) / 1e6:.1f}"
    blind = is_blind(messages)
    judged = [one for one in messages if blind or one.held is not None or one.lost_ns <= line_ns]
    unread = len(messages) - len(judged)  # silences, on a busy machine
    held = [one for one in judged if one.lost_ns > line_ns]
    own = sum(one.gap_ns > line_ns >= one.lost_ns for one in judged)
    note = f"; late by a pause of the {sender}, whose kernel held nothing: {own}" if own else ""
    if is_clean(len(held), len(judged)):
        if unread > 2 * (len(held) + own):
            why = f"the machine is too busy: the {sender}'s socket was not read in {unread} of its silences"
            return Outcome(rule, State.INCONCLUSIVE, f"{why} ({beside})", unit=f"{unit}s"), []
        few = f"{len(held)} of {len(messages)} came as late, which is rare enough to be the machine's" if held else "none"
        return Outcome(rule, State.OK, f"{few}{note} ({beside})", 0, len(messages), f"{unit}s"), []
    cost_ms = round(median(one.lost_ns for one in held) / 1e6, 1)
    cause, _ = Counter(one.held.cause if one.held else "" for one in held).most_common(1)[0]
    by = f", held by {IN_WORDS.get(cause, cause)}" if cause else ""
    cure = f"no MSG_MORE or TCP_CORK without a flush behind the last piece of the {unit}" if cause == "cork" else ""
    detail = f"{cost_ms} ms each{by} ({beside}){note}"
    return Outcome(rule, State.FOUND, detail, len(held), len(messages), f"{unit}s", cost_ms=cost_ms, cure=cure), held
