"""A report as text and in three formats for machines, on stdout or in a file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from onewrite_cli import __version__
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Outcome, Report, State
from onewrite_cli.common.terminal import counted, fitted, say, wrapped

__all__ = ["FORMATS", "as_json", "header", "writable", "write_report"]

OF_A_CHECK = ("headline", "command", "problem", "witness", "runs", "requests", "connections", "control_ms", "notes")
OF_A_FINDING = ("detail", "count", "of", "unit", "cost_ms", "examples", "cure")
SHOWN_NOTES = 20
LONGEST = 160
BAD = (State.FOUND, State.WARNED)
LEVEL = {State.FOUND: "error", State.WARNED: "warning", State.INCONCLUSIVE: "warning"}
MARK = {State.OK: "✅", State.FOUND: "❌", State.WARNED: "⚠️", State.INCONCLUSIVE: "❔"}
#: What XML 1.0 cannot hold, whatever the escaping: a command may print anything.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def header(tool: str, exit_status: int) -> dict[str, Any]:
    """The first fields of every JSON report."""
    return {"tool": tool, "version": __version__, "schema": 1, "exit_status": exit_status}


def as_text(report: Report) -> str:
    """The verdict, what was seen, and the cure."""
    where = f"{counted(report.connections, 'connection')}" + (f" in {report.runs} runs" if report.runs != 1 else "")
    seen = f"{counted(report.requests, 'request')} on {where} of `{_command(report)}`; seen by {report.witness}"
    lines = [*wrapped(report.headline), *wrapped(seen, "", "  ")]
    for outcome in report.outcomes:
        lines += wrapped(f"{outcome.rule.id} {outcome.state.value:<8} {_sentence(outcome)}", "  ", "        ")
    cures: dict[str, list[str]] = {}
    for outcome in report.of(*BAD):
        cures.setdefault(outcome.cure, []).append(outcome.rule.id)
    for cure, rules in cures.items():
        lines += wrapped(f"cure: {cure}" + (f" ({', '.join(rules)})" if len(cures) > 1 else ""), "", "  ")
    if cures:
        lines += wrapped(f"`onewrite explain {next(iter(cures.values()))[-1]}` says more of a rule")
        if report.problem:
            lines += wrapped(f"inconclusive beside that: {report.problem}", "", "  ")
    for note in report.notes[:SHOWN_NOTES]:
        lines += wrapped(f"note: {note}", "", "  ")
    if len(report.notes) > SHOWN_NOTES:
        lines += wrapped(f"and {counted(len(report.notes) - SHOWN_NOTES, 'more note')} (-f json has all)")
    return "\n".join(lines)


def _command(report: Report) -> str:
    return fitted(" ".join(" ".join(report.command).split()), LONGEST)


def _sentence(outcome: Outcome) -> str:
    if outcome.state in BAD:
        return f"{outcome.rule.title}: {outcome.count} of {outcome.of} {outcome.unit}; {outcome.detail}"
    return f"{outcome.rule.name}: {outcome.detail or outcome.rule.title}"


def as_data(report: Report) -> dict[str, Any]:
    """schemas/check-v1.schema.json"""
    return {
        **header(report.tool, report.exit_status),
        "verdict": report.exit_status.name.lower(),
        **{field: getattr(report, field) for field in OF_A_CHECK},
        "findings": [
            {
                "rule": outcome.rule.id,
                "name": outcome.rule.name,
                "title": outcome.rule.title,
                "state": outcome.state.value,
                **{field: getattr(outcome, field) for field in OF_A_FINDING},
            }
            for outcome in report.outcomes
        ],
    }


def as_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2)


def as_junit(report: Report) -> str:
    """One test case per rule."""
    suite = ElementTree.Element("testsuite", name=report.tool)
    kind = report.tool.replace(" ", ".")
    for outcome in report.outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname=kind, name=f"{outcome.rule.id} {outcome.rule.name}")
        detail = _clean(outcome.detail)
        if outcome.state is State.FOUND:
            message = f"{outcome.rule.title}: {outcome.count} of {outcome.of} {outcome.unit}"
            failure = ElementTree.SubElement(case, "failure", message=message, type=outcome.rule.id)
            failure.text = "\n".join([detail, *map(_clean, outcome.examples), f"cure: {outcome.cure}"])
        elif outcome.state is State.INCONCLUSIVE:
            ElementTree.SubElement(case, "error", message=detail, type="inconclusive")
        elif outcome.state in (State.SKIPPED, State.OFF):
            ElementTree.SubElement(case, "skipped", message=detail or outcome.state.value)
        else:
            ElementTree.SubElement(case, "system-out").text = f"{outcome.state.value}: {detail}"
    if report.why_inconclusive and not report.of(State.INCONCLUSIVE):
        case = ElementTree.SubElement(suite, "testcase", classname=kind, name="conclusive")
        ElementTree.SubElement(case, "error", message=_clean(report.why_inconclusive), type="inconclusive")
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _clean("\n".join([" ".join(report.command), f"seen by {report.witness}", *report.notes]))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _clean(text: str) -> str:
    return FORBIDDEN.sub("�", text)


def as_github(report: Report) -> str:
    """The text, and a workflow command per finding."""
    lines = [as_text(report)]
    for outcome in report.outcomes:
        if outcome.state in LEVEL:
            title = _escaped(f"{outcome.rule.id} {outcome.rule.title}").replace(":", "%3A").replace(",", "%2C")
            cure = f". Cure: {outcome.cure}." if outcome.state in BAD else ""
            lines.append(f"::{LEVEL[outcome.state]} title={title}::{_escaped(_sentence(outcome) + cure)}")
    if report.problem is not None:
        lines.append(f"::warning title={report.tool} is inconclusive::{_escaped(report.problem)}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _write_summary(report: Report) -> None:
    """Add a table to the summary of a GitHub job, where there is one."""
    where = os.environ.get("GITHUB_STEP_SUMMARY")
    if not where:
        return
    lines = [f"### {report.tool}: `{_command(report).replace('`', chr(39))}`", "", report.headline]
    lines += ["", "| | rule | result | |", "|---|---|---|---|"]
    for outcome in report.outcomes:
        cells = (MARK.get(outcome.state, "➖"), f"{outcome.rule.id} {outcome.rule.name}", outcome.state.value, _sentence(outcome))
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    with Path(where).open("a", encoding="utf-8") as summary:
        summary.write("\n".join(lines) + "\n\n")


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": as_text,
    "json": lambda report: as_json(as_data(report)),
    "junit": as_junit,
    "github": as_github,
}


def writable(output: Path | None) -> None:
    """Find out before anything is measured. Raises CouldNotRun."""
    if output is None:
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.open("a").close()
    except OSError as error:
        raise CouldNotRun(f"{output}: {error.strerror}") from error


def write_report(report: Report, form: str, output: Path | None) -> None:
    """With `output` the file gets the report and stdout the text. Raises CouldNotRun when it cannot be written."""
    if form == "github":
        _write_summary(report)
    if output is None:
        say(FORMATS[form](report))
        return
    try:
        output.write_text(FORMATS[form](report) + "\n", encoding="utf-8")
    except OSError as error:
        raise CouldNotRun(f"{output}: {error.strerror}") from error
    say(as_text(report))
