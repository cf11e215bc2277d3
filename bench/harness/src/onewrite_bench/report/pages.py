"""Writes tables into the pages that explain them.

A page has a pair of lines `<!-- NAME:begin -->` and `<!-- NAME:end -->`; the text between them is replaced. NAME is
`cost` or a scenario. Blocks of other names do not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import REPOSITORY

__all__ = ["PAGES", "block", "filled", "write"]

PAGES = {
    "cost": "README.md",
    "stock-libraries": "docs/do-i-have-it.md",
    "proxies": "docs/proxies.md",
    "relays": "docs/proxies.md",
    "other-waits": "docs/what-it-cannot-fix.md",
}
"""The page of each table that is not in RESULTS.md."""

_BLOCK = re.compile(r"<!-- ([a-z0-9-]+):begin -->\n(.*?)<!-- \1:end -->", re.DOTALL)


def block(name: str, content: str) -> str:
    return f"<!-- {name}:begin -->\n{content}\n<!-- {name}:end -->"


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables in its blocks. Raises BenchError when it lacks a block."""
    missing = set(tables) - {name for name, _ in _BLOCK.findall(page)}
    if missing:
        raise BenchError(f"the page has no block {', '.join(sorted(missing))}")
    return _BLOCK.sub(lambda match: block(match[1], tables[match[1]]) if match[1] in tables else match[0], page)


def write(tables: Mapping[str, str], repository: Path = REPOSITORY, check: bool = False) -> list[str]:
    """Write tables into their pages; with `check` write nothing. Returns the pages that differed."""
    differ = []
    for page in dict.fromkeys(PAGES[name] for name in tables):
        path = repository / page
        text = path.read_text()
        fresh = filled(text, {name: table for name, table in tables.items() if PAGES[name] == page})
        if fresh != text:
            differ.append(page)
            if not check:
                path.write_text(fresh)
    return differ
