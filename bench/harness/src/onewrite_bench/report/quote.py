"""Copies tables of RESULTS.md into other pages, so that a figure stands in one place.

RESULTS.md has each table between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. A page with the same pair of lines gets
what stands between them. NAME is `glance`, `cost` or a scenario; blocks of other names are left alone.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BENCH

__all__ = ["add_arguments", "block", "quoted"]

_BLOCK = re.compile(r"<!-- ([a-z0-9-]+):begin -->\n(.*?)<!-- \1:end -->", re.DOTALL)


def block(name: str, content: str) -> str:
    return f"<!-- {name}:begin -->\n{content}\n<!-- {name}:end -->"


def quoted(page: str, results: str) -> str:
    """The page with its blocks as they are in the results. Raises BenchError when it has none of them."""
    there = dict(_BLOCK.findall(results))
    if not any(name in there for name, _ in _BLOCK.findall(page)):
        raise BenchError(f"the page has no block of RESULTS.md, such as {', '.join(there)}")

    def fresh(match: re.Match[str]) -> str:
        return block(match[1], there[match[1]].rstrip("\n")) if match[1] in there else match[0]

    return _BLOCK.sub(fresh, page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a page is out of date")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    results = (BENCH / "RESULTS.md").read_text()
    status = 0
    for page in options.page:
        text = page.read_text()
        fresh = quoted(text, results)
        if fresh == text:
            continue
        if options.check:
            print(f"{page}: out of date: make -C bench quote FILE={page}")
            status = 1
        else:
            page.write_text(fresh)
            print(f"{page}: written")
    return status
