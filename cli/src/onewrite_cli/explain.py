"""`onewrite explain`: what a finding means and what helps."""

from __future__ import annotations

import textwrap

from onewrite_cli.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.rules import RULES, Rule, rule_named
from onewrite_cli.width import columns

__all__ = ["explain", "explained"]


def explained(rule: Rule) -> str:
    """The page of one rule."""
    parts = [f"{rule.id}  {rule.name}: {rule.title}", rule.means, rule.why]
    parts += [f"Cure: {rule.cure}.", f"Seen by: {rule.seen_by}."]
    return "\n\n".join(textwrap.fill(part, min(100, columns())) for part in parts)


def explain(name: str | None) -> ExitStatus:
    """Print one rule, or the list of all."""
    if name is None:
        for rule in RULES:
            print(f"{rule.id}  {rule.name:<16} {rule.title}")
        print("\nonewrite explain OW101 says more about one.")
        return ExitStatus.CLEAN
    try:
        print(explained(rule_named(name)))
    except KeyError:
        names = ", ".join(f"{rule.id} ({rule.name})" for rule in RULES)
        raise CouldNotRun(f"there is no rule {name!r}: {names}") from None
    return ExitStatus.CLEAN
