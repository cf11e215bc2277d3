#!/usr/bin/env python3
"""Writes docs/what-it-touches.md from the lists of spec/testdata/footprint: what each adapter reaches into, and for how long.

usage: touches.py [--check]      exit: 0 written or the same; with --check 1 where the page differs from a list
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "what-it-touches.md"
LISTS = ROOT / "spec" / "testdata" / "footprint"
LANGUAGES = {"python": "Python", "ruby": "Ruby", "node": "Node", "java": "Java"}
FIELDS = ("kind", "when", "back")


def items(mechanisms: list[dict[str, Any]]) -> str:
    """An item per kind, time and way back; its names as code, in the order of the list."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in mechanisms:
        rows.setdefault(tuple(str(one[field]) for field in FIELDS), []).append(f"`{' '.join(one['name'].split())}`")
    return "\n".join(f"- **{kind}**, {since} to {until}: {'; '.join(names)}" for (kind, since, until), names in rows.items())


def filled(page: str) -> str:
    """The page with the items of each language that has a list."""
    for language in LANGUAGES:
        begin, end = f"<!-- {language}:begin -->\n", f"<!-- {language}:end -->"
        path = LISTS / f"{language}.yaml"
        before, found, rest = page.partition(begin)
        if path.is_file() and found:
            mechanisms = yaml.safe_load(path.read_text(encoding="utf-8"))["mechanisms"]
            page = f"{before}{begin}{items(mechanisms)}\n{end}{rest.partition(end)[2]}"
    return page


def main(check: bool) -> int:
    text = PAGE.read_text(encoding="utf-8")
    fresh = filled(text)
    if fresh != text and check:
        print(f"{PAGE.relative_to(ROOT)} is not what the lists say: docs/tools/touches.py", file=sys.stderr)
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
