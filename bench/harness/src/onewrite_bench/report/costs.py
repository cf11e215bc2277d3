"""Reads the cost per call from the results of each language's bench, and leaves out figures that are too noisy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report.table import Table

__all__ = ["MOST_ERROR", "table"]

PLACES = ("python/bench", "ruby/bench", "node/bench", "java/bench", "bench/jmh")
ROWS = ("onewrite", "on_timing", "every event")
AGAIN, SIZE = "stock again", "200 B"
MOST_ERROR = 0.03
"""The largest difference of two processes of the stock library. Above it the figures are not published."""


def table(repository: Path = REPOSITORY) -> tuple[Table, list[str]]:
    """CPU per call as a factor of the stock library's, and notes. A row that is too noisy has only a note.

    A row of a bench is called `onewrite`, or `onewrite, 20 kB` where it measures several sizes.
    """
    rows: list[list[str]] = []
    notes: list[str] = []
    for place in PLACES:
        path = repository / place / "results.json"
        if not path.exists():
            continue
        try:
            raw: dict[str, Any] = json.loads(path.read_text())
            sizes: dict[str, dict[str, Any]] = {}
            for row in raw["rows"]:
                name, _, of = row["name"].partition(", ")
                sizes.setdefault(of or SIZE, {})[name] = row
            library = f"{raw['language']}, {raw['base']}"
            for of, named in sizes.items():
                error = abs(named[AGAIN]["ratio"] - 1)
                if error > MOST_ERROR:
                    notes.append(f"{library}, {of}: not written, stock against stock differs by {error:.0%}.")
                    continue
                rows.append([library, of, *(_ratio(named.get(name)) for name in (*ROWS, AGAIN))])
            notes.append(f"{library}: `{raw['command']}`, {raw['runtime']}, {raw['date']}.")
        except (ValueError, TypeError, KeyError) as error:
            notes.append(f"{place}/results.json cannot be read: {type(error).__name__}: {error}.")
    return Table(("library", "body", *ROWS, f"{AGAIN}: the error"), rows), notes


def _ratio(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
