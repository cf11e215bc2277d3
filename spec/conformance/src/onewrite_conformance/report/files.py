"""Results as JUnit XML, and their counts."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from onewrite_conformance.run.result import Result, Status

__all__ = ["summary", "write_junit"]


def write_junit(results: list[Result], path: Path, suite: str) -> None:
    """JUnit XML of the judged results."""
    judged = [result for result in results if result.judged]
    root = ElementTree.Element(
        "testsuite",
        name=suite,
        tests=str(len(judged)),
        failures=str(sum(result.status in (Status.DEVIATES, Status.STALE) for result in judged)),
        errors=str(sum(result.status == Status.FAULT for result in judged)),
        skipped=str(sum(result.status in Status.SKIPPED for result in judged)),
        time=f"{sum(result.seconds for result in judged):.3f}",
    )
    for result in judged:
        case = ElementTree.SubElement(
            root, "testcase", classname=f"judge.{result.adapter}", name=result.path, time=f"{result.seconds:.3f}"
        )
        text = "\n".join(result.problems + result.notes)
        first = (result.problems or [result.status])[0][:300]
        if result.status == Status.FAULT:
            ElementTree.SubElement(case, "error", message=_clean(first)).text = _clean(text)
        elif result.status in Status.FAILING:
            ElementTree.SubElement(case, "failure", message=_clean(first)).text = _clean(text)
        elif result.status in Status.SKIPPED:
            ElementTree.SubElement(case, "skipped", message=_clean(f"{result.status}: {first}"))
        elif result.unsteady:
            # Surefire's element for a test that failed, and passed when it was run again.
            ElementTree.SubElement(case, "flakyFailure", message=_clean(result.unsteady[:300])).text = _clean(text)
        elif text:
            ElementTree.SubElement(case, "system-out").text = _clean(f"{result.status}\n{text}")
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """XML 1.0 has no control characters, not even escaped."""
    return "".join(letter if letter >= " " or letter in "\n\t" else f"\\x{ord(letter):02x}" for letter in text)


def summary(results: list[Result]) -> str:
    """`N passed, N failed, N skipped` over the judged results."""
    judged = [result for result in results if result.judged]
    counts = Counter(
        "failed" if result.failing else "skipped" if result.status in Status.SKIPPED else "passed" for result in judged
    )
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
