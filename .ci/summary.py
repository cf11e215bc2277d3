"""Sums up one run of the tests: the outcomes of its steps, and the JUnit files that they left."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import again
from lanes import Outcome
from reports import NOT_APPLICABLE, Case, read

#: Unsteady tests that do not make a run red: they failed, and passed when they were judged again by themselves.
TOLERATED = 3
#: Characters of an unsteady test's first failure that are shown.
FIRST_FAILURE = 2000
#: The judge counts its failures in its exit status; all other steps fail only outside their tests.
COUNTED_BY_REPORT = ("judge",)
#: Reasons of skipped tests that are listed; the rest is counted.
REASONS = 25


def inconclusive(folder: Path) -> bool:
    """Whether the demo's gate could not tell, as on a machine too busy to show the stall: no failure, no pass."""
    try:
        return bool(json.loads((folder / "bench-gate.json").read_text())["exit_status"] == 2)
    except (OSError, ValueError, KeyError):
        return False


def reason_line(reason: str) -> str:
    """A reason without what differs from test to test, so that equal ones are counted together."""
    first = reason.splitlines()[0]
    return re.sub(r"\d+(\.\d+)*", "N", first)[:110]


def step_of(report: Path, steps: Collection[str]) -> str:
    """The step that left a report: the longest name that its file begins with, or the first word."""
    words = re.split(r"[-.]", report.name)
    names = ("-".join(words[:length]) for length in range(len(words), 0, -1))
    return next((name for name in names if name in steps), words[0])


#: Steps that leave no report begin with these words.
WITHOUT_REPORT = ("lint", "package", "gate", "more", "fuzz", "site", "boot", "suites")


def steps_with_tests(ran: Iterable[Outcome]) -> list[str]:
    """Names of the steps that must leave a report."""
    return [one.step.name for one in ran if not one.step.name.startswith(WITHOUT_REPORT)]


def main(folder: Path, ran: Sequence[Outcome], steady: Collection[Case] = (), *, strict: bool = False) -> int:
    """Print the summary, its last line `N passed, N failed, N skipped, N unsteady`. Return 1 when the run is red.

    `steady`: failed tests that passed when they were judged again. `strict`: an unsteady test is red.
    """
    by_part: dict[str, Counter[str]] = {}
    failures: list[str] = []
    unsteady: list[Case] = []
    reasons: Counter[tuple[str, str]] = Counter()
    steps = {one.step.name for one in ran}
    for report in sorted(folder.rglob("*.xml")):
        part = step_of(report, steps)
        row = by_part.setdefault(part, Counter())
        try:
            cases = read(report)
        except ElementTree.ParseError as error:
            failures.append(f"unreadable report {report.name}: {error}")
            continue
        for case in cases:
            kind = "unsteady" if case in steady else case.kind
            row[kind] += 1
            if kind == "unsteady":
                unsteady.append(case)
            elif kind == "failed":
                failures.append(f"{case.report}: {case.id}")
            elif kind == "skipped":
                reasons[part, reason_line(case.text)] += 1

    total = sum(by_part.values(), Counter[str]())
    print("\nstep             exit  seconds  CPU s  passed  failed  unsteady  skipped  not applicable")
    for one in ran:
        name = one.step.name
        row = by_part.get(name, Counter())
        print(
            f"{name:<15} {one.status:>5} {one.seconds:>8.0f} {one.cpu_seconds:>6.0f} {row['passed']:>7}"
            f" {row['failed']:>7} {row['unsteady']:>9} {row['skipped']:>8} {row[NOT_APPLICABLE]:>15}"
        )
        if one.status == 0:
            # A step without test cases of its own (a linter, the gate) that ended well is one check passed.
            total["passed"] += not row.total()
        elif name == "gate" and inconclusive(folder):
            total["skipped"] += 1
            print("                inconclusive: its output above says why")
        elif name not in COUNTED_BY_REPORT or not row["failed"]:
            failures.append(f"{name}: outside its tests, see its output above")
    failures += [f"{part}: no report, its tests did not run" for part in steps_with_tests(ran) if part not in by_part]

    if reasons:
        print("\nskipped, and why:")
        for (part, reason), count in reasons.most_common(REASONS):
            print(f"{count:>6}  {part}: {reason}")
        if len(reasons) > REASONS:
            print(f"{sum(reasons.values()) - sum(n for _, n in reasons.most_common(REASONS)):>6}  for other reasons")
    again.keep(unsteady, folder / "unsteady.jsonl")
    for case in unsteady:
        print(f"unsteady: {case.report}: {case.id}\n    {case.text[:FIRST_FAILURE]}")
    for failure in failures:
        print(f"failed: {failure}")
    tolerated = 0 if strict else TOLERATED
    if len(unsteady) > tolerated:
        print(f"red: {len(unsteady)} unsteady tests, {tolerated} are tolerated")
    print(f"\n{total[NOT_APPLICABLE]} cases do not apply: their client lacks the capability")
    print(f"{total['passed']} passed, {len(failures)} failed, {total['skipped']} skipped, {len(unsteady)} unsteady")
    return 1 if failures or len(unsteady) > tolerated else 0
