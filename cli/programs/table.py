"""Runs every program under onewrite check and writes what was found into docs/do-i-have-it.md.

usage: table.py [--no-page]      exit: 0 as expected, 1 something else was found (the page is written all the same)
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from programs import PROGRAMS, ROOT, Program, found_in, run

PAGE = ROOT / "docs" / "do-i-have-it.md"
BEGIN, END = "<!-- measured:programs -->\n", "<!-- /measured:programs -->\n"
RULES = ("OW101", "OW102", "OW103", "OW104", "OW105")
HEAD = ("program", "condition", "OW101 split", "OW102 Nagle on", "OW103 TLS records", "OW104 not reused", "OW105 stall")


def row(program: Program, report: dict[str, Any]) -> str:
    findings = {finding["rule"]: finding for finding in report["findings"]}
    condition = program.condition + (", with onewrite" if program.onewrite else "")
    cells = [program.library, condition]
    for rule in RULES:
        finding = findings[rule]
        if finding["state"] == "found" and finding["cost_ms"] is not None:
            cells.append(f"**{finding['cost_ms']:.0f} ms** in {finding['count']} of {finding['of']}")
        elif finding["state"] == "found":
            cells.append(f"**{finding['count']} of {finding['of']}**")
        else:
            cells.append({"ok": "ok", "skipped": ""}.get(finding["state"], finding["state"]))
    return "| " + " | ".join(cells) + " |"


def main(write: bool) -> int:
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    other: list[str] = []
    missing: list[str] = []
    controls: list[float] = []
    for program in PROGRAMS:
        name = f"{program.library}, {program.condition}{', with onewrite' if program.onewrite else ''}"
        if not program.needs():
            missing.append(name)
            continue
        report = run(program)
        lines.append(row(program, report))
        print(lines[-1], flush=True)
        controls.append(report["control_ms"])
        if found_in(report) != program.found or report["problem"]:
            other.append(f"{name}: found {found_in(report)}, not {program.found}; {report['problem'] or ''}")
    lines.append("")
    low, high = min(controls), max(controls)
    lines.append(
        f"Measured on Linux {platform.release().partition('-')[0]}; the control that splits with Nagle on lost {low:.0f} to "
        f"{high:.0f} ms beside each of them. Empty: could not be looked at, or does not apply."
    )
    if missing:
        print("not here, and left out: " + "; ".join(missing), file=sys.stderr)
    if write and not missing:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])
    for line in other:
        print(f"not as expected: {line}", file=sys.stderr)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main("--no-page" not in sys.argv[1:]))
