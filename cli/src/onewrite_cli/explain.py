"""`onewrite explain`: what a finding means and what helps."""

from __future__ import annotations

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.rules import RULES, rule_named
from onewrite_cli.common.terminal import say, wrapped

__all__ = ["explain"]


def explain(name: str | None) -> ExitStatus:
    """Print one rule, or the list of all. Raises CouldNotRun."""
    if name is None:
        lines = [line for rule in RULES for line in wrapped(f"{rule.id}  {rule.name:<16} {rule.title}", "", " " * 7)]
        say("\n".join([*lines, "", *wrapped("`onewrite explain OW101` says more of a rule.")]))
        return ExitStatus.CLEAN
    try:
        rule = rule_named(name)
    except KeyError:
        names = ", ".join(f"{rule.id} ({rule.name})" for rule in RULES)
        raise CouldNotRun(f"there is no rule {name!r}: {names}") from None
    parts = [f"{rule.id}  {rule.name}: {rule.title}", rule.means, rule.why, f"Decides: {rule.decides}"]
    parts += [f"Cure: {rule.cure}.", f"Seen by: {rule.seen_by}."]
    severity = "it costs time, so the check fails" if rule.is_stall else "it costs no time, so the check warns (--strict: fails)"
    parts.append(f"When found: {severity}. --rule {rule.name}=fail, warn or off says otherwise.")
    say("\n\n".join("\n".join(wrapped(part)) for part in parts))
    return ExitStatus.CLEAN
