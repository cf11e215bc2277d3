"""A check's report for GitHub Actions: annotations in the log, and the job's summary."""

from __future__ import annotations

import os
from pathlib import Path

from onewrite_cli.check.outcome import Outcome, Report, State
from onewrite_cli.report.as_text import as_text, shortened

__all__ = ["as_github", "write_summary"]

LEVEL = {State.FOUND: "error", State.WARNED: "warning", State.KNOWN: "notice", State.INCONCLUSIVE: "warning"}
MARK = {State.OK: "✅", State.FOUND: "❌", State.WARNED: "⚠️", State.KNOWN: "📌", State.INCONCLUSIVE: "❔"}


def as_github(report: Report) -> str:
    """The text, and a workflow command per finding."""
    lines = [as_text(report)]
    for outcome in report.outcomes:
        if outcome.state in LEVEL:
            title = _property(f"{outcome.rule.id} {outcome.rule.title}")
            lines.append(f"::{LEVEL[outcome.state]} title={title}::{_message(_sentence(outcome))}")
    if report.problem is not None:
        lines.append(f"::warning title=onewrite check is inconclusive::{_message(report.problem)}")
    return "\n".join(lines)


def write_summary(report: Report) -> None:
    """Add a table to the job's summary, where there is one."""
    where = os.environ.get("GITHUB_STEP_SUMMARY")
    if not where:
        return
    lines = [f"### onewrite check: `{shortened(report.command).replace('`', chr(39))}`", ""]
    lines.append(f"{report.requests} requests on {report.connections} connections; seen by {report.witness}")
    lines += ["", "| | rule | result | |", "|---|---|---|---|"]
    for outcome in report.outcomes:
        cells = (
            MARK.get(outcome.state, "➖"),
            f"{outcome.rule.id} {outcome.rule.name}",
            outcome.state.value,
            _sentence(outcome),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    if report.problem:
        lines += ["", f"Inconclusive: {report.problem}"]
    with Path(where).open("a", encoding="utf-8") as summary:
        summary.write("\n".join(lines) + "\n\n")


def _sentence(outcome: Outcome) -> str:
    if outcome.state in (State.FOUND, State.WARNED, State.KNOWN):
        count = f"{outcome.count} of {outcome.of} {outcome.unit}"
        return f"{count}: {outcome.detail}. Cure: {outcome.cure}."
    return outcome.detail


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
