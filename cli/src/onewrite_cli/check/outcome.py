"""What a check says about one rule, and about all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from onewrite_cli.check.cures import cure_for
from onewrite_cli.exit_status import ExitStatus
from onewrite_cli.rules import Rule

__all__ = ["Outcome", "Report", "State"]


class State(str, Enum):
    OK = "ok"
    FOUND = "found"
    WARNED = "warned"  # found, and the user asked for a warning only
    KNOWN = "known"  # found, and in the baseline
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
    witness: str = ""
    cost_ms: float | None = None  # per request, for a stall
    examples: list[str] = field(default_factory=list)
    user_agents: list[str] = field(default_factory=list)  # of the requests that show it

    @property
    def cure(self) -> str:
        """For the client that shows it, if it is a known one."""
        return cure_for(self.rule.id, self.user_agents) or self.rule.cure


@dataclass
class Report:
    """One check. `problem` is why it is inconclusive as a whole."""

    command: list[str]
    witness: str
    runs: int
    requests: int
    connections: int
    outcomes: list[Outcome]
    notes: list[str] = field(default_factory=list)
    problem: str | None = None
    control_ms: float | None = None  # the silence of the client that splits with Nagle on

    @property
    def exit_status(self) -> ExitStatus:
        states = {outcome.state for outcome in self.outcomes}
        if State.FOUND in states:
            return ExitStatus.FOUND
        if self.problem is not None or State.INCONCLUSIVE in states:
            return ExitStatus.INCONCLUSIVE
        return ExitStatus.CLEAN
