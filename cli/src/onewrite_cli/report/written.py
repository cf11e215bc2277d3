"""Writes a check's report in the format asked for, to stdout or a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onewrite_cli.check.outcome import Report
from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.report.as_github import as_github, write_summary
from onewrite_cli.report.as_json import as_json
from onewrite_cli.report.as_junit import as_junit
from onewrite_cli.report.as_text import as_text

__all__ = ["FORMATS", "writable", "write_report"]

FORMATS: dict[str, Callable[[Report], str]] = {"text": as_text, "json": as_json, "junit": as_junit, "github": as_github}


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
        write_summary(report)
    if output is None:
        print(FORMATS[form](report))
        return
    try:
        output.write_text(FORMATS[form](report) + "\n", encoding="utf-8")
    except OSError as error:
        raise CouldNotRun(f"{output}: {error.strerror}") from error
    print(as_text(report))
