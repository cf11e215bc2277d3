"""The result of one rule, and the report of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.rules import RULES, Rule, rule_named

__all__ = ["FITS", "Outcome", "Report", "State", "apply_severities", "by_mode", "read_severities"]

#: A TLS record holds 16 KiB (RFC 8446, 5.1), a loopback segment 32 KiB or more: a larger request must be split.
FITS = 16 * 1024
WORDS = ("fail", "warn", "off")


class State(str, Enum):
    OK = "ok"
    FOUND = "found"
    WARNED = "warned"  # found, and no reason to fail
    SKIPPED = "skipped"  # could not be seen, or does not apply: never a pass
    INCONCLUSIVE = "inconclusive"
    OFF = "off"


@dataclass
class Outcome:
    """`count` of `of` requests (or connections, as `unit` says)."""

    rule: Rule
    state: State
    detail: str
    count: int = 0
    of: int = 0
    unit: str = "requests"
    cost_ms: float | None = None  # per request, for a stall
    applies: bool = True  # False: skipped, because there is nothing to see
    examples: list[str] = field(default_factory=list)
    cure: str = ""  # of what was seen; else the rule's
    own_proxy: bool = False  # found on connections to the tool's own proxy alone, which may be its cause

    def __post_init__(self) -> None:
        self.cure = self.cure or self.rule.cure


@dataclass
class Report:
    """One check. `problem` is why it is inconclusive as a whole."""

    tool: str
    command: list[str]
    witness: str
    runs: int
    requests: int
    connections: int
    outcomes: list[Outcome]
    notes: list[str] = field(default_factory=list)
    problem: str | None = None
    control_ms: float | None = None  # what the control lost that splits with Nagle on
    through: str = ""  # in words, where all connections went through a proxy

    def of(self, *states: State) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.state in states]

    @property
    def why_inconclusive(self) -> str | None:
        """In words; a check that could judge nothing is no pass."""
        if self.problem is not None:
            return self.problem
        unsure = self.of(State.INCONCLUSIVE)
        if not unsure and self.of(State.SKIPPED) and not self.of(State.OK, State.FOUND, State.WARNED):
            unsure = self.of(State.SKIPPED)
        return f"{unsure[0].rule.id}: {unsure[0].detail}" if unsure else None

    @property
    def exit_status(self) -> ExitStatus:
        if self.of(State.FOUND):
            return ExitStatus.FOUND
        return ExitStatus.INCONCLUSIVE if self.why_inconclusive else ExitStatus.CLEAN

    @property
    def headline(self) -> str:
        """The verdict in plain words."""
        found, warned = self.of(State.FOUND), self.of(State.WARNED)
        stall = next((outcome for outcome in found if outcome.cost_ms is not None), None)
        if stall:
            share = f"{stall.count} of {stall.of} {stall.unit}"
            return f"STALLS{self.through}: {share} lose {stall.cost_ms} ms each between their pieces"
        if not found and self.why_inconclusive:
            return f"INCONCLUSIVE: {self.why_inconclusive}"
        unseen = ", ".join(outcome.rule.id for outcome in self.of(State.SKIPPED) if outcome.applies)
        also = f". Not judged: {unseen}" if unseen and not found else ""
        if found or warned:
            what = "; ".join(f"{one.rule.title} ({one.count} of {one.of} {one.unit})" for one in found or warned)
            no_stall = "; no stall" if any(one.rule.is_stall for one in self.of(State.OK)) else ""
            return f"{'FOUND' if found else 'WARNED'}{self.through}: {what}{no_stall}{also}"
        word = "CLEAN as far as it could be judged" if unseen else "CLEAN"
        good = "; ".join([outcome.rule.good for outcome in self.of(State.OK)] or ["no rule fails"])
        return f"{word}{self.through}: {good}{also}"


def by_mode(rule: Rule, counts: list[int], what: str, resent: int, unit: str = "request") -> Outcome:
    """Found when the most frequent count is above 1, or when more than chance explains need more than one.

    `resent` is how many segments the whole host sent again: they excuse a fifth of the requests at most.
    """
    mode = Counter(counts).most_common(1)[0][0]
    more = sum(count > 1 for count in counts)
    shown = ", ".join(f"{count} in {times}" for count, times in sorted(Counter(counts).items()))
    if mode > 1 or more > max(min(resent, len(counts) // 5), len(counts) // 10):
        return Outcome(rule, State.FOUND, f"{what} per {unit}: {shown}", more, len(counts), f"{unit}s")
    note = f", {more} with more, which is rare enough to be the kernel's" if more else ""
    return Outcome(rule, State.OK, f"1 {what[:-1]} per {unit}{note}", 0, len(counts), f"{unit}s")


def read_severities(settings: list[str], *, strict: bool) -> dict[str, str]:
    """By rule id: fail, warn or off. A rule warns unless it costs time, the check is strict, or `--rule` says otherwise.

    Raises CouldNotRun.
    """
    severities = {rule.id: "fail" if strict or rule.is_stall else "warn" for rule in RULES}
    for setting in settings:
        name, _, word = setting.partition("=")
        try:
            rule = rule_named(name)
        except KeyError:
            raise CouldNotRun(f"--rule {setting}: there is no rule {name!r}; `onewrite explain` lists them") from None
        if word not in WORDS:
            raise CouldNotRun(f"--rule {setting}: say {rule.name}=fail, {rule.name}=warn or {rule.name}=off")
        severities[rule.id] = word
    return severities


def apply_severities(outcomes: list[Outcome], severities: dict[str, str]) -> None:
    for outcome in outcomes:
        word = severities[outcome.rule.id]
        if word == "off":
            outcome.state = State.OFF
        elif outcome.state is State.FOUND and (word == "warn" or outcome.own_proxy):
            fails = word == "fail" and outcome.rule.is_stall
            outcome.state = State.INCONCLUSIVE if fails else State.WARNED
