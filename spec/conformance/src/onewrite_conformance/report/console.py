"""The judge's output: progress, failures and counts."""

from __future__ import annotations

import sys
import time

from onewrite_conformance.report.files import summary
from onewrite_conformance.run.result import Result, Status

__all__ = ["Progress", "close", "explain"]

MOST_NAMED = 60  # failures that the last lines name


class Progress:
    """The progress line; on a terminal it is rewritten, elsewhere written every 15 s."""

    def __init__(self, quiet: bool, total: int) -> None:
        self.quiet, self.total = quiet, total
        self.done = self.failed = 0
        self.terminal = sys.stderr.isatty()
        self.started = self.last = time.monotonic()

    def ran(self, result: Result) -> None:
        self.done += 1
        self.failed += result.failing
        now = time.monotonic()
        if now - self.last >= (0.1 if self.terminal else 15.0):
            self.last = now
            failed = f", {self.failed} failed at first" if self.failed else ""
            seconds = f"{now - self.started:.0f} s"
            self.say(f"{self.done}/{self.total} runs{failed}, {seconds}, at {result.adapter}: {result.path}")

    def say(self, line: str) -> None:
        if not self.quiet:
            sys.stderr.write(f"\r\x1b[K{line[:150]}" if self.terminal else line + "\n")
            sys.stderr.flush()

    def clear(self) -> None:
        if self.terminal and not self.quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


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


def close(results: list[Result]) -> None:
    """The last lines: what was unsteady, the counts, and the name of each failure again, so that the end of a log has
    it."""
    unsteady = [result for result in results if result.judged and result.unsteady]
    if unsteady:
        print(f"\n{len(unsteady)} unsteady runs: failed or differed, and then did not")
    for result in unsteady:
        print(f"UNSTEADY {result.adapter}: {result.path}: {result.wobble}")
    print(f"\n{summary(results)}" + (f", {len(unsteady)} of these passed only when judged again" if unsteady else ""))
    failed = [result for result in results if result.failing]
    for result in failed[:MOST_NAMED]:
        print(f"FAILED {result.adapter}: {result.path}: {_short((result.problems or [''])[0])}")
    if len(failed) > MOST_NAMED:
        print(f"FAILED and {len(failed) - MOST_NAMED} more, named above")


def _short(text: str, most: int = 100) -> str:
    """The beginning of a problem, and the last of several lines, where a trace has its error."""
    lines = text.strip().splitlines() or [""]
    return lines[0][:most] + (f" … {lines[-1].strip()[:most]}" if len(lines) > 1 else lines[0][most : 2 * most])
