"""Runs every client and server under onewrite check and writes what was found into docs/do-i-have-it.md.

usage: table.py [programs] [servers] [--no-page]      exit: 1 when some were not there, and the page was not written
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any

from programs import PROGRAMS, ROOT, Program, found_in, run
from servers import SERVERS, ServerProgram, run_server

PAGE = ROOT / "docs" / "do-i-have-it.md"
RULES = ("OW101", "OW102", "OW103", "OW104", "OW105")
HEAD = ("program", "condition", "OW101 split", "OW102 Nagle on", "OW103 TLS records", "OW104 not reused", "OW105 stall")
SERVER_RULES = ("OW201", "OW202", "OW204", "OW205")
SERVER_HEAD = ("server", "condition", "OW201 split", "OW202 Nagle on", "OW204 closes", "OW205 stall")


def row(program: Program, report: dict[str, Any]) -> str:
    condition = program.condition + (", with onewrite" if program.onewrite else "")
    return _row([program.library, condition], RULES, report)


def server_row(program: ServerProgram, report: dict[str, Any]) -> str:
    return _row([program.server, program.condition], SERVER_RULES, report)


def _row(cells: list[str], rules: Sequence[str], report: dict[str, Any]) -> str:
    findings = {finding["rule"]: finding for finding in report["findings"]}
    for rule in rules:
        finding = findings[rule]
        if finding["state"] == "found" and finding["cost_ms"] is not None:
            cells.append(f"**{finding['cost_ms']:.0f} ms** in {finding['count']} of {finding['of']}")
        elif finding["state"] == "found":
            cells.append(f"**{finding['count']} of {finding['of']}**")
        else:
            cells.append({"ok": "ok", "skipped": ""}.get(finding["state"], finding["state"]))
    return "| " + " | ".join(cells) + " |"


Runner = Callable[[Any], dict[str, Any]]


def table(programs: Sequence[Any], head: tuple[str, ...], run_one: Runner, row_of: Callable[..., str]) -> tuple[list[str], bool]:
    """Run them all: the table's lines, and whether all were there."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    controls: list[float] = []
    complete = True
    for program in programs:
        if not program.needs():
            complete = False
            print(f"not here, and left out: {program}", file=sys.stderr)
            continue
        report = run_one(program)
        lines.append(row_of(program, report))
        print(lines[-1], flush=True)
        controls.append(report["control_ms"])
        if found_in(report) != program.found or report["problem"]:
            print(f"not as expected: {program}: {found_in(report)} {report['problem'] or ''}", file=sys.stderr)
    low, high = min(controls), max(controls)
    measured = f"Measured on Linux {platform.release().partition('-')[0]}"
    beside = f"the control that splits with Nagle on lost {low:.0f} to {high:.0f} ms beside each of them"
    lines += ["", f"{measured}; {beside}. Empty: could not be looked at, or does not apply."]
    return lines, complete


def main(arguments: list[str]) -> int:
    tables = {
        "programs": lambda: table(PROGRAMS, HEAD, run, row),
        "servers": lambda: table(SERVERS, SERVER_HEAD, run_server, server_row),
    }
    whole = True
    for name in [one for one in arguments if one in tables] or tables:
        lines, complete = tables[name]()
        whole = whole and complete
        if complete and "--no-page" not in arguments:
            begin, end = f"<!-- measured:{name} -->\n", f"<!-- /measured:{name} -->\n"
            before, rest = PAGE.read_text().split(begin)
            PAGE.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
