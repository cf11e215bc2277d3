"""Whether requests or answers stall: only what their sender's kernel held counts, beside the controls of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from onewrite_lab.stall import control_line, is_clean, median

from onewrite_cli.common.outcome import Outcome, State
from onewrite_cli.common.rules import Rule
from onewrite_cli.common.sockets import COSTS_TIME, IN_WORDS, Hold

__all__ = ["Controls", "Message", "judge_stall"]

FEW = 20  # of so many messages or more, one late one is 5 %, which may be chance


@dataclass
class Controls:
    """What each request of the tool's own pair took, in ns: one client or server splits with Nagle on, the other writes once."""

    split_ns: list[int]
    whole_ns: list[int]

    @property
    def split_ms(self) -> float:
        return round(median(self.split_ns) / 1e6, 1)

    def __add__(self, other: Controls) -> Controls:
        return Controls(self.split_ns + other.split_ns, self.whole_ns + other.whole_ns)


@dataclass(kw_only=True)
class Message:
    """A request or an answer. `segments`, `nodelay` and `held` are None where they could not be read."""

    segments: int | None = None
    nodelay: bool | None = None  # of its sender
    gap_ns: int = 0  # the longest silence between two pieces
    held: Hold | None = None  # in the sender's kernel

    @property
    def has_body(self) -> bool:
        """Without one there is no second piece that could wait."""
        return True

    @property
    def lost_ns(self) -> int:
        """What the kernel held by an option of its sender, not by a full window or a lost segment."""
        return self.held.ns if self.held is not None and self.held.cause in COSTS_TIME else 0


AnyMessage = TypeVar("AnyMessage", bound=Message)


def judge_stall(
    rule: Rule, messages: Sequence[AnyMessage], unit: str, sender: str, controls: Controls
) -> tuple[Outcome, list[AnyMessage]]:
    """The outcome, and the messages that stalled. The share is among those with a body."""
    line_ns, beside, problem = control_line(controls.split_ns, controls.whole_ns)
    units = f"{unit}s"
    if problem:
        return Outcome(rule, State.INCONCLUSIVE, f"{problem}: {beside}", unit=units), []
    beside = f"controls: split {controls.split_ms:.1f}, whole {median(controls.whole_ns) / 1e6:.1f}"
    counted = [one for one in messages if one.has_body or one.lost_ns > line_ns] or list(messages)
    unit_of = units if len(counted) == len(messages) else f"{units} with a body"
    late = [one for one in counted if one.lost_ns > line_ns]
    silent = [one for one in counted if one.gap_ns > line_ns >= one.lost_ns]
    unread = [one for one in silent if one.held is None and not one.nodelay and one.segments != 1]
    held_nothing = sum(one.held is None or not one.held.ns for one in silent)  # else a full window, or a lost segment
    own, of = held_nothing - len(unread), len(counted) - len(unread)
    note = f"; the {sender} itself paused between the pieces of {own}, and its kernel held nothing" if own else ""
    if unread:
        note += f"; {len(unread)} more silences could not be read"
    if is_clean(len(late), of) and (not late or of >= FEW):
        few_unread = len(counted) >= FEW and is_clean(len(late) + len(unread), len(counted))
        if len(unread) > 2 * (len(late) + own) and not few_unread:
            why = f"the {sender}'s send queue could not be read in {len(unread)} silences of {len(counted)} {unit_of}"
            return Outcome(rule, State.INCONCLUSIVE, f"{why} ({beside})", unit=unit_of), []
        few = f"{len(late)} of {of} {unit_of} waited, which is rare enough to be chance" if late else "none"
        return Outcome(rule, State.OK, f"{few}{note} ({beside})", 0, of, unit_of), []
    cost_ms = round(median(one.lost_ns for one in late) / 1e6, 1)
    cause, _ = Counter(one.held.cause for one in late if one.held).most_common(1)[0]
    detail = f"{cost_ms} ms each, held by {IN_WORDS[cause]} ({beside}){note}"
    if len(late) == 1 and of < FEW:
        why = f"1 of {of} {unit_of} lost {detail}; too few to judge: let the {sender} send more"
        return Outcome(rule, State.INCONCLUSIVE, why, 1, of, unit_of), []
    cure = f"no MSG_MORE or TCP_CORK without a flush behind the last piece of the {unit}" if cause == "cork" else ""
    return Outcome(rule, State.FOUND, detail, len(late), of, unit_of, cost_ms=cost_ms, cure=cure), late
