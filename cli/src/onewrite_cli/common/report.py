"""A report as text, JSON or GitHub's annotations, on stdout or in files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onewrite_cli import __version__
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Outcome, Report, State
from onewrite_cli.common.rules import PER_LIBRARY
from onewrite_cli.common.terminal import counted, fitted, print_out, wrapped

__all__ = ["FORMATS", "Output", "as_json", "header", "write_report"]

OF_A_CHECK = ("headline", "command", "problem", "witness", "runs", "requests", "connections", "control_ms", "notes")
OF_A_FINDING = ("detail", "count", "of", "unit", "cost_ms", "examples", "cure")
SHOWN_NOTES = 20
LONGEST = 160
BAD = (State.FOUND, State.WARNED)
LEVEL = {State.FOUND: "error", State.WARNED: "warning", State.INCONCLUSIVE: "warning"}


def header(tool: str, exit_status: int) -> dict[str, Any]:
    """The first fields of every JSON report."""
    return {"tool": tool, "version": __version__, "schema": 1, "exit_status": exit_status}


def as_text(report: Report) -> str:
    """The verdict, what was seen, and the cure."""
    seen = f"{counted(report.requests, 'request')} on {counted(report.connections, 'connection')}"
    if report.command:
        seen += (f" in {report.runs} runs" if report.runs != 1 else "") + f" of `{_command(report)}`"
    seen += f"; seen by {report.witness}"
    lines = [*wrapped(report.headline), *wrapped(seen, "", "  ")]
    for outcome in report.outcomes:
        lines += wrapped(f"{outcome.rule.id} {outcome.state.value:<8} {_sentence(outcome)}", "  ", "        ")
    cures: dict[str, list[str]] = {}
    for outcome in report.of(*BAD):
        cures.setdefault(outcome.cure, []).append(outcome.rule.id)
    for cure, rules in cures.items():
        lines += wrapped(f"cure: {cure}" + (f" ({', '.join(rules)})" if len(cures) > 1 else ""), "", "  ")
    if cures:
        first = (report.of(State.FOUND) or report.of(State.WARNED))[0].rule.id
        lines += wrapped(f"`onewrite explain {first}` says more of a rule; what to do per library: {PER_LIBRARY}", "", "  ")
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


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": as_text,
    "json": lambda report: as_json(as_data(report)),
    "github": as_github,
}


@dataclass(frozen=True)
class Output:
    """A file for a report, and its format."""

    form: str
    file: Path

    @classmethod
    def named(cls, text: str, form: str) -> Output:
        """Of `[FORMAT=]FILE`. Without a format the suffix .json says it, or else `-f`. Raises CouldNotRun."""
        name, sign, rest = text.partition("=")
        if not sign or not name.isalpha():
            return cls("json" if text.endswith(".json") else form, Path(text))
        if name not in FORMATS:
            raise CouldNotRun(f"-o {text}: there is no format {name}; say one of {', '.join(FORMATS)}")
        return cls(name, Path(rest))

    def examine(self, command: list[str]) -> None:
        """Before anything runs: raises CouldNotRun for a file that cannot be written, or that the command names."""
        if self.file.is_dir():
            raise CouldNotRun(f"{self.file}: Is a directory")
        folder = next(one for one in self.file.resolve().parents if one.exists())
        written = [self.file] if self.file.exists() else []
        if not written or self.file.is_file():
            written.append(folder)
        if not folder.is_dir() or not all(os.access(one, os.W_OK) for one in written):
            raise CouldNotRun(f"{self.file} cannot be written")
        words = (word for word in command if os.path.isfile(word))  # noqa: PTH113 (a word may be too long for a name)
        if self.file.is_file() and any(self.file.samefile(word) for word in words):
            raise CouldNotRun(f"-o {self.file}: the command names this file; name another for the report")

    def write(self, report: Report) -> None:
        """Beside its place and then moved there, so that no reader sees half of it. Raises CouldNotRun."""
        file, text = self.file.resolve(), FORMATS[self.form](report) + "\n"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists() and not file.is_file():  # /dev/stderr, a named pipe
                file.write_text(text, encoding="utf-8")
                return
            beside = file.with_name(f".{file.name}.{os.getpid()}")
            beside.write_text(text, encoding="utf-8")
            if file.exists():
                beside.chmod(file.stat().st_mode & 0o777)
            beside.replace(file)
        except OSError as error:
            raise CouldNotRun(f"{self.file}: {error.strerror}") from error


def write_report(report: Report, form: str, outputs: list[Output]) -> None:
    """Each to its file, and `form` to stdout. Raises CouldNotRun when a file cannot be written."""
    for output in outputs:
        output.write(report)
    # A check that listens prints JSON lines, of which the report is the last.
    print_out(FORMATS[form](report) if report.command or form != "json" else json.dumps(as_data(report)))
