"""The judge's output: progress, failures and counts."""

from __future__ import annotations

import sys

from onewrite_conformance.report.files import summary
from onewrite_conformance.run.result import Result, Status

__all__ = ["explain", "print_progress", "print_summary"]

MOST_NAMED = 60  # failures that the last lines name


def print_progress(line: str) -> None:
    """A line of progress."""
    print(line, file=sys.stderr, flush=True)


def _ends_of(lines: list[str], most: int = 14) -> list[str]:
    """The beginning and, of a long trace, the end."""
    return lines if len(lines) <= most else [*lines[:3], "…", *lines[-(most - 4) :]]


def explain(results: list[Result]) -> None:
    """Print failures and warnings."""
    for result in results:
        if not result.judged or result.status in (Status.OK, Status.NOT_APPLICABLE):
            continue
        lines = result.problems + result.notes
        text = "\n".join(line for text in lines[:8] for line in _ends_of(text.splitlines()))
        print(f"\n{result.status.upper()} {result.adapter}: {result.path} [{result.of}] {result.title}")
        print("    " + text.replace("\n", "\n    "))
    if any(result.failing for result in results):
        print("\nto see one run on the wire: python -m onewrite_conformance --trace --adapter NAME PATH")


def print_summary(results: list[Result]) -> None:
    """The last lines: what was unsteady, the counts, and the name of each failure again, so that the end of a log has
    it."""
    for result in results:
        if result.judged and result.unsteady:
            print(f"UNSTEADY {result.adapter}: {result.path} passed when judged again; at first: {result.unsteady}")
    print(f"\n{summary(results)}")
    failed = [result for result in results if result.failing]
    for result in failed[:MOST_NAMED]:
        print(f"FAILED {result.adapter}: {result.path}: {_short((result.problems or [''])[0])}")
    if len(failed) > MOST_NAMED:
        print(f"FAILED and {len(failed) - MOST_NAMED} more, named above")


def _short(text: str, most: int = 100) -> str:
    """The beginning of a problem, and the last of several lines, where a trace has its error."""
    lines = text.strip().splitlines() or [""]
    return lines[0][:most] + (f" … {lines[-1].strip()[:most]}" if len(lines) > 1 else lines[0][most : 2 * most])
