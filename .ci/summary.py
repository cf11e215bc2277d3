"""Sums up one run of the tests: the outcomes of its steps, and the JUnit files that they left."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from lanes import Outcome

#: The judge's word for a case that a driver lacks the capability for: nothing was left out.
NOT_APPLICABLE = "not applicable"
#: Reasons of skipped tests that are listed; the rest is counted.
REASONS = 25


def outcomes(report: Path) -> list[tuple[str, str, str]]:
    """Return (name, "passed", "failed", "skipped" or "not applicable", reason) for each test case of a JUnit file."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = " ".join(filter(None, (case.get("classname"), case.get("name"))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            found.append((name, "failed", ""))
        elif skipped is None:
            found.append((name, "passed", ""))
        else:
            reason = skipped.get("message") or (skipped.text or "").strip() or "no reason given"
            kind = NOT_APPLICABLE if reason.startswith(NOT_APPLICABLE) else "skipped"
            found.append((name, kind, reason))
    return found


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
    """The step that left a report: the longest name its file begins with (`bench-timed.xml`), or the first word."""
    words = re.split(r"[-.]", report.name)
    names = ("-".join(words[:length]) for length in range(len(words), 0, -1))
    return next((name for name in names if name in steps), words[0])


def steps_with_tests(ran: Iterable[Outcome]) -> list[str]:
    """Names of the steps that must leave a report: all but linters and the gate."""
    return [one.step.name for one in ran if one.step.name != "gate" and not one.step.name.startswith("lint")]


def second_looks(folder: Path) -> list[str]:
    """A line for each run of the judge that failed beside others and then passed alone: each is a defect to mend."""
    found = []
    for report in sorted(folder.glob("judge-*.jsonl")):
        runs = [json.loads(line) for line in report.read_text().splitlines()]
        found += [
            f"{run['adapter']} {run['path']}: {(run['notes'] or [''])[0]}"
            for run in runs
            if run["failed_tries"] and run["status"] == "ok"
        ]
    return found


def main(folder: Path, ran: Sequence[Outcome]) -> int:
    """Print the summary, its last line `N passed, N failed, N skipped`. Return 1 when anything failed."""
    by_part: dict[str, Counter[str]] = {}
    failures: list[str] = []
    reasons: Counter[tuple[str, str]] = Counter()
    steps = {one.step.name for one in ran}
    for report in sorted(folder.rglob("*.xml")):
        part = step_of(report, steps)
        try:
            found = outcomes(report)
        except ElementTree.ParseError as error:
            failures.append(f"unreadable report {report.name}: {error}")
            continue
        by_part.setdefault(part, Counter()).update(outcome for _, outcome, _ in found)
        failures += [f"{report.stem}: {name}" for name, outcome, _ in found if outcome == "failed"]
        reasons.update((part, reason_line(reason)) for _, outcome, reason in found if outcome == "skipped")

    total = sum(by_part.values(), Counter[str]())
    print("\nstep          exit  seconds  CPU s  passed  failed  skipped  not applicable")
    for one in ran:
        name = one.step.name
        row = by_part.get(name, Counter())
        print(
            f"{name:<12} {one.status:>5} {one.seconds:>8.0f} {one.cpu_seconds:>6.0f} {row['passed']:>7}"
            f" {row['failed']:>7} {row['skipped']:>8} {row[NOT_APPLICABLE]:>15}"
        )
        if one.status == 0:
            # A step without test cases of its own (a linter, the gate) that ended well is one check passed.
            total["passed"] += not row.total()
        elif name == "gate" and inconclusive(folder):
            total["skipped"] += 1
            print("             inconclusive: its output above says why")
        elif not row["failed"]:
            failures.append(f"{name}: outside its tests, see its output above")
    failures += [f"{part}: no report, its tests did not run" for part in steps_with_tests(ran) if part not in by_part]

    if reasons:
        print("\nskipped, and why:")
        for (part, reason), count in reasons.most_common(REASONS):
            print(f"{count:>6}  {part}: {reason}")
        if len(reasons) > REASONS:
            print(f"{sum(reasons.values()) - sum(n for _, n in reasons.most_common(REASONS)):>6}  for other reasons")
    for line in second_looks(folder):
        print(f"judged again: {line}")
    for failure in failures:
        print(f"failed: {failure}")
    print(f"\n{total[NOT_APPLICABLE]} cases do not apply: their client lacks the capability")
    print(f"{total['passed']} passed, {len(failures)} failed, {total['skipped']} skipped")
    return 1 if failures else 0
