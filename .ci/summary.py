"""Sums up one run of `make test`: steps.tsv and the JUnit files beside it. Exit 1 when anything failed."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

PARTS = ("python", "ruby", "node", "java", "spec", "bench", "docs", "judge")


def outcomes(report: Path) -> list[tuple[str, str]]:
    """Return (name, "passed", "failed" or "skipped") for each test case of one JUnit file."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = " ".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            found.append((name, "failed"))
        else:
            found.append((name, "skipped" if case.find("skipped") is not None else "passed"))
    return found


def failed_first(folder: Path, step: str) -> list[str]:
    """Names of the tests that failed in the first run of a step that was run twice."""
    failed = []
    for report in sorted(folder.glob(f"{step}*.xml.first")):
        try:
            failed += [name for name, outcome in outcomes(report) if outcome == "failed"]
        except ElementTree.ParseError:
            failed.append(f"{report.name}, which cannot be read")
    return failed


def inconclusive(folder: Path) -> bool:
    """Whether the demo's gate could not tell, as on a machine too busy to show the stall: no failure, no pass."""
    try:
        return bool(json.loads((folder / "bench-gate.json").read_text())["exit_status"] == 2)
    except (OSError, ValueError, KeyError):
        return False


def main(folder: Path) -> int:
    by_part: dict[str, Counter[str]] = {}
    failures: list[str] = []
    for report in sorted(folder.rglob("*.xml")):
        part = report.name.split("-")[0].split(".")[0]
        try:
            found = outcomes(report)
        except ElementTree.ParseError as error:
            failures.append(f"unreadable report {report.name}: {error}")
            continue
        by_part.setdefault(part, Counter()).update(outcome for _, outcome in found)
        failures += [f"{report.stem}: {name}" for name, outcome in found if outcome == "failed"]

    total = sum(by_part.values(), Counter[str]())
    print("\nstep        exit  seconds  passed  failed  skipped")
    for name, status, seconds, runs in (line.split("\t") for line in (folder / "steps.tsv").read_text().splitlines()):
        row = by_part.get(name, Counter())
        print(f"{name:<10} {status:>5} {seconds:>8} {row['passed']:>7} {row['failed']:>7} {row['skipped']:>8}")
        if runs != "1":
            print(f"           failed when run first: {', '.join(failed_first(folder, name)) or 'see its output above'}")
        if status == "0":
            # A step without test cases of its own (lint, gate) that ended well is one check passed.
            total["passed"] += not row.total()
        elif name == "gate" and inconclusive(folder):
            total["skipped"] += 1
            print("           gate was inconclusive: its output above says why")
        elif not row["failed"]:
            failures.append(f"{name}: outside its tests, see its output above")
    failures += [f"{part}: no report, its tests did not run" for part in PARTS if part not in by_part]
    for failure in failures:
        print(f"failed: {failure}")
    print(f"\n{total['passed']} passed, {len(failures)} failed, {total['skipped']} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
