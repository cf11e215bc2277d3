"""Runs every server under `onewrite check` and writes what was found into docs/do-i-have-it.md.

usage: table.py [--no-page]      exit: 1 when some were not there, and the page was not written
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from servers import SERVERS, ServerProgram, found_in, run_server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do-i-have-it.md"
RULES = ("OW201", "OW202", "OW205")
HEAD = ("server", "condition", "OW201 split", "OW202 Nagle on", "OW205 stall")
BEGIN, END = "<!-- measured:servers -->\n", "<!-- /measured:servers -->\n"


def row(program: ServerProgram, report: dict[str, Any]) -> str | None:
    """The server's line in the table; None where no rule found anything."""
    if all(finding["state"] == "ok" for finding in report["findings"] if finding["rule"] in RULES):
        return None
    cells = [program.server, program.condition]
    findings = {finding["rule"]: finding for finding in report["findings"]}
    for rule in RULES:
        finding = findings[rule]
        found = finding["state"] in ("found", "warned")
        if found and finding["cost_ms"] is not None:
            cells.append(f"**{finding['cost_ms']:.0f} ms** in {finding['count']} of {finding['of']}")
        elif found:
            cells.append(f"**{finding['count']} of {finding['of']}**")
        else:
            cells.append({"ok": "ok", "skipped": ""}.get(finding["state"], finding["state"]))
    return "| " + " | ".join(cells) + " |"


def main(arguments: list[str]) -> int:
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    controls: list[float] = []
    clean: list[str] = []
    for program in SERVERS:
        if not program.needs():
            print(f"not here, and left out: {program}", file=sys.stderr)
            continue
        report = run_server(program)
        line = row(program, report)
        if line is None:
            plain = program.condition == "as it comes"
            clean.append(program.server if plain else f"{program.server} ({program.condition})")
        else:
            lines.append(line)
        print(line or f"nothing found: {clean[-1]}", flush=True)
        controls.append(report["control_ms"])
        if found_in(report) != program.found or report["problem"]:
            print(f"not as expected: {program}: {found_in(report)} {report['problem'] or ''}", file=sys.stderr)
    if len(controls) < len(SERVERS):
        return 1
    measured = f"Measured on Linux {platform.release().partition('-')[0]}"
    beside = f"the control that splits with Nagle on lost {min(controls):.0f} to {max(controls):.0f} ms beside each of them"
    lines += [
        "",
        "Nothing found:",
        "",
        *(f"- {server}" for server in clean),
        "",
        f"{measured}; {beside}. Empty: not readable, or not applicable.",
    ]
    if "--no-page" not in arguments:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
