"""Sums up one run of `make test`: steps.tsv and the JUnit files beside it. Exit 1 when anything failed."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def counts(report: Path) -> tuple[int, int, int]:
    """Return (passed, failed, skipped) of one JUnit file, counted from its test cases."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def inconclusive(folder: Path) -> bool:
    """Whether the demo's gate could not tell, as on a machine too busy to show the stall: no failure, no pass."""
    try:
        return bool(json.loads((folder / "bench-gate.json").read_text())["exit_status"] == 2)
    except (OSError, ValueError, KeyError):
        return False


def main(folder: Path) -> int:
    by_part: dict[str, list[int]] = {}
    unreadable: list[str] = []
    for report in sorted(folder.rglob("*.xml")):
        part = report.name.split("-")[0].split(".")[0]
        try:
            found = counts(report)
        except ElementTree.ParseError as error:
            unreadable.append(f"{report.name}: {error}")
            continue
        total = by_part.setdefault(part, [0, 0, 0])
        for index, value in enumerate(found):
            total[index] += value

    steps = [line.split("\t") for line in (folder / "steps.tsv").read_text().splitlines()]
    passed, failed, skipped = (sum(row[index] for row in by_part.values()) for index in range(3))
    print("\nstep        exit  seconds  passed  failed  skipped")
    for name, status, seconds in steps:
        row = by_part.get(name, [0, 0, 0])
        print(f"{name:<10} {status:>5} {seconds:>8} {row[0]:>7} {row[1]:>7} {row[2]:>8}")
        if name == "gate" and status != "0" and inconclusive(folder):
            skipped += 1
            print("           gate was inconclusive: its output above says why")
        elif status != "0" and row[1] == 0:
            failed += 1
            print(f"           {name} failed outside its tests: see its output above")
        elif status == "0":
            # A step without test cases of its own (lint, gate) that ended well is one check passed.
            passed += 1 if not any(row) else 0
    for line in unreadable:
        failed += 1
        print(f"unreadable report: {line}")
    expected = {"python", "ruby", "node", "java", "spec", "bench", "docs", "judge"}
    for part in sorted(expected - set(by_part)):
        failed += 1
        print(f"no report from {part}: its tests did not run")
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
