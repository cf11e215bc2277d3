"""Fills the README's table from bench/DEMO.md, between its markers. `--check` only tells whether it is stale.

usage: python3 .ci/readme.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo:begin -->\n", "<!-- demo:end -->\n"
FRONTENDS = {"http-buffer-request", "forward proxy"}


def rows(demo: str) -> list[str]:
    """The table's head, and its rows of the frontends the README speaks of."""
    table = [line for line in demo.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [
        line
        for index, (line, row) in enumerate(zip(table, cells, strict=True))
        if index < 2 or (row[0] != "raw" and row[2] in FRONTENDS)
    ]


def main(check: bool) -> int:
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + "\n".join(rows((ROOT / "bench/DEMO.md").read_text())) + "\n" + END + after
    if wanted == text:
        return 0
    if check:
        print("README.md does not show what bench/DEMO.md holds: run python3 .ci/readme.py", file=sys.stderr)
        return 1
    readme.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
