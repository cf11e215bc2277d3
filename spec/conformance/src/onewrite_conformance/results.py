"""Results of runs: their words, their counts, JSON lines and JUnit XML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Result", "Status", "append_jsonl", "read_jsonl", "summary", "write_jsonl", "write_junit"]


class Status:
    """Words for what came of one run."""

    OK = "ok"
    DEVIATES = "deviates"  # a MUST is broken
    WARNS = "warns"  # a SHOULD or MAY is not followed
    NOT_APPLICABLE = "not applicable"  # the driver has no such capability
    CANNOT_TELL = "cannot tell"  # the judge could not see it
    FAULT = "driver fault"  # hung, noisy, crashed: nothing is known of the library
    KNOWN = "known failure"
    STALE = "stale known failure"

    FAILING = frozenset({DEVIATES, FAULT, STALE})
    SKIPPED = frozenset({NOT_APPLICABLE, CANNOT_TELL, KNOWN})


@dataclass
class Result:
    """What came of one run of one adapter."""

    adapter: str
    path: str
    case: str
    client: str
    scheme: str
    route: str
    covers: list[str]
    level: str
    status: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    title: str = ""
    base: str = ""
    tries: int = 1  # how often it was judged
    failed_tries: int = 0  # how many of these tries failed, where there was more than one

    @property
    def unsteady(self) -> bool:
        """Whether it failed, and passed when it was judged again."""
        return self.tries > 1 and self.status not in (Status.DEVIATES, Status.FAULT, Status.WARNS)

    @property
    def judged(self) -> bool:
        """Stock clients are run for the matrix and never fail the judge, unless they are all that a driver is for."""
        return self.client != "stock" or self.adapter == "driver"

    @property
    def failing(self) -> bool:
        return self.judged and self.status in Status.FAILING


def write_jsonl(results: Iterable[Result], path: Path) -> None:
    with path.open("w") as file:
        for result in results:
            file.write(json.dumps(asdict(result)) + "\n")


def append_jsonl(result: Result, path: Path) -> None:
    with path.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def read_jsonl(path: Path) -> list[Result]:
    return [Result(**json.loads(line)) for line in path.read_text().splitlines() if line]


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
