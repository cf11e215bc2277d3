"""`--rule nodelay=warn`: what a finding of a rule is worth."""

from __future__ import annotations

from onewrite_cli.check.outcome import Outcome, State
from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.rules import rule_named

__all__ = ["apply_severities", "read_severities"]

WORDS = ("fail", "warn", "off")


def read_severities(settings: list[str]) -> dict[str, str]:
    """By rule id: fail, warn or off. Raises CouldNotRun."""
    severities = {}
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
        word = severities.get(outcome.rule.id, "fail")
        if word == "off":
            outcome.state = State.OFF
        elif word == "warn" and outcome.state is State.FOUND:
            outcome.state = State.WARNED
