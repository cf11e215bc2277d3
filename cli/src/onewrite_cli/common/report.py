"""A report as text and in four formats for machines, on stdout or in files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from onewrite_cli import __version__
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Outcome, Report, State
from onewrite_cli.common.rules import README
from onewrite_cli.common.terminal import counted, fitted, say, wrapped

__all__ = ["FORMATS", "Output", "as_json", "header", "prepare", "write_report"]

OF_A_CHECK = ("headline", "command", "problem", "witness", "runs", "requests", "connections", "control_ms", "notes")
OF_A_FINDING = ("detail", "count", "of", "unit", "cost_ms", "examples", "cure")
SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
SHOWN_NOTES = 20
LONGEST = 160
BAD = (State.FOUND, State.WARNED)
LEVEL = {State.FOUND: "error", State.WARNED: "warning", State.INCONCLUSIVE: "warning"}
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


def as_sarif(report: Report) -> str:
    """SARIF 2.1.0: a result per finding, at the first file that the command names, where it names one."""
    file = next((part for part in report.command if not Path(part).is_absolute() and Path(part).is_file()), None)
    where = {"logicalLocations": [{"fullyQualifiedName": _command(report), "kind": "module"}]}
    physical = {"physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}}} if file else {}
    rules = [
        {
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.means},
            "help": {"text": f"{rule.why} {rule.decides} Cure: {rule.cure}."},
            "helpUri": README,
        }
        for rule in (outcome.rule for outcome in report.outcomes)
    ]
    results = [
        {
            "ruleId": outcome.rule.id,
            "level": LEVEL[outcome.state],
            "message": {"text": f"{_sentence(outcome)}. Cure: {outcome.cure}."},
            "locations": [{**physical, **where}],
        }
        for outcome in report.of(*BAD)
    ]
    problem = [{"level": "warning", "message": {"text": report.why_inconclusive}}] if report.why_inconclusive else []
    run = {
        "tool": {"driver": {"name": report.tool, "version": __version__, "informationUri": README, "rules": rules}},
        "invocations": [{"executionSuccessful": not problem, "toolExecutionNotifications": problem}],
        "results": results,
    }
    return as_json({"$schema": SARIF, "version": "2.1.0", "runs": [run]})


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": as_text,
    "json": lambda report: as_json(as_data(report)),
    "junit": as_junit,
    "sarif": as_sarif,
    "github": as_github,
}
SUFFIXES = {".json": "json", ".xml": "junit", ".sarif": "sarif"}


@dataclass(frozen=True)
class Output:
    """A file for a report, and its format."""

    form: str
    file: Path

    @classmethod
    def named(cls, text: str, form: str) -> Output:
        """Of `[FORMAT=]FILE`. Without a format, that of `-f` if it is one for machines, else the suffix says it."""
        name, sign, rest = text.partition("=")
        if sign and name in FORMATS:
            return cls(name, Path(rest))
        file = Path(text)
        return cls(SUFFIXES.get(file.suffix, form) if form in ("text", "github") else form, file)


def prepare(outputs: list[Output]) -> None:
    """Remove earlier reports, before anything is measured. Raises CouldNotRun where a file cannot be written."""
    for output in outputs:
        file = output.file.resolve()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()
            if file.is_file():
                file.unlink()
        except OSError as error:
            raise CouldNotRun(f"{output.file}: {error.strerror}") from error


def write_report(report: Report, form: str, outputs: list[Output]) -> None:
    """With `outputs`, stdout gets the text or GitHub's annotations. Raises CouldNotRun when a file cannot be written."""
    for output in outputs:
        try:
            output.file.resolve().write_text(FORMATS[output.form](report) + "\n", encoding="utf-8")
        except OSError as error:
            raise CouldNotRun(f"{output.file}: {error.strerror}") from error
    say(FORMATS[form if form == "github" or not outputs else "text"](report))
