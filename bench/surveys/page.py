"""Puts what was measured between the markers of a page: `<!-- measured:NAME -->` … `<!-- /measured:NAME -->`."""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["fill", "machine", "run", "table"]


def fill(page: Path, blocks: dict[str, str]) -> None:
    """Replaces the text of each named block. Raises ValueError for a block the page does not hold exactly once."""
    text = page.read_text(encoding="utf-8")
    for name, content in blocks.items():
        start, end = f"<!-- measured:{name} -->", f"<!-- /measured:{name} -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise ValueError(f"{page.name} must hold {start} and {end} once")
        before, rest = text.split(start)
        text = f"{before}{start}\n{content.strip(chr(10))}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """`Linux 6.18.0, 2 cores, load average 0.4, loopback`: the conditions every figure needs."""
    load = os.getloadavg()[0]
    return f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} cores, load average {load:.1f}, loopback"


def run(main: Callable[[], int]) -> None:
    """Ends the program with what `main` returns; Ctrl-C ends it quietly, and nothing is left running or half written."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        sys.exit(130)
