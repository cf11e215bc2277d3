"""A check's report for people."""

from __future__ import annotations

import textwrap

from onewrite_cli.check.outcome import Outcome, Report, State
from onewrite_cli.width import columns, fitted

__all__ = ["as_text", "shortened"]

SHOWN_NOTES = 20
LONGEST = 160
INDENT = " " * 7


def as_text(report: Report) -> str:
    """Plain text: the same on a terminal, in a pipe and in a CI log."""
    lines = [f"onewrite check: {shortened(report.command)}"]
    where = f"{counted(report.connections, 'connection')} in {counted(report.runs, 'run')}"
    lines.append(f"{counted(report.requests, 'request')} on {where}; seen by {report.witness}")
    lines.append("")
    for outcome in report.outcomes:
        lines += _outcome(outcome)
    if report.notes:
        lines += ["", *(f"note: {note}" for note in report.notes[:SHOWN_NOTES])]
    if len(report.notes) > SHOWN_NOTES:
        lines.append(f"and {counted(len(report.notes) - SHOWN_NOTES, 'more note')} (-f json has all)")
    lines += ["", _closing(report)]
    return "\n".join(lines)


def shortened(command: list[str]) -> str:
    """The command in one line."""
    return fitted(" ".join(" ".join(command).split()), LONGEST)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _outcome(outcome: Outcome) -> list[str]:
    rule = outcome.rule
    if outcome.state in (State.FOUND, State.WARNED, State.KNOWN):
        line = f"{rule.id}  {outcome.state.value:<12} {rule.title}: {outcome.count} of {outcome.of} {outcome.unit}"
        lines = textwrap.wrap(line, columns(), subsequent_indent=INDENT)
        for part in (outcome.detail, *(f"e.g. {example}" for example in outcome.examples[:1]), f"cure: {outcome.cure}"):
            lines += textwrap.wrap(part, columns(), initial_indent=INDENT, subsequent_indent=INDENT)
        return lines
    line = f"{rule.id}  {outcome.state.value:<12} {rule.name}: {outcome.detail or rule.title}"
    return textwrap.wrap(line, columns(), subsequent_indent=INDENT)


def _closing(report: Report) -> str:
    found = [outcome.rule.id for outcome in report.outcomes if outcome.state is State.FOUND]
    if found:
        beside = f"\ninconclusive beside that: {report.problem}" if report.problem else ""
        return f"found: {', '.join(found)}. `onewrite explain {found[0]}` says more.{beside}"
    if report.problem:
        return f"inconclusive: {report.problem}"
    unsure = [outcome.rule.id for outcome in report.outcomes if outcome.state is State.INCONCLUSIVE]
    if unsure:
        return f"inconclusive: {', '.join(unsure)}"
    skipped = [outcome.rule.id for outcome in report.outcomes if outcome.state is State.SKIPPED]
    return "clean" + (f", but {', '.join(skipped)} could not be looked at" if skipped else "")
