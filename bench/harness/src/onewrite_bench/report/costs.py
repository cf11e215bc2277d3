"""What a call costs, read from the results of each language's own bench, and which of it may be published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report.table import Table

__all__ = ["MOST_ERROR", "table"]

PLACES = ("python/bench", "ruby/bench", "node/bench", "java/bench", "bench/jmh")
ROWS = ("onewrite", "on_timing", "every event")
AGAIN = "stock again"
MOST_ERROR = 0.03
"""A second process of the stock library may differ so much from the first. Else the figures are not written."""


def table(repository: Path = REPOSITORY) -> tuple[Table, list[str]]:
    """CPU per call in parts of the stock library's, and notes. A language without a good result has a note only."""
    rows, notes = [], []
    for place in PLACES:
        path = repository / place / "results.json"
        if not path.exists():
            continue
        try:
            raw: dict[str, Any] = json.loads(path.read_text())
            of = {row["name"]: row for row in raw["rows"]}
            error = abs(of[AGAIN]["ratio"] - 1)
            name = f"{raw['language']}, {raw['base']}"
            if error > MOST_ERROR:
                notes.append(f"{name}: not written, stock against stock differs by {error:.0%}.")
                continue
            rows.append([name, *(_ratio(of[row]) if row in of else "-" for row in (*ROWS, AGAIN))])
            notes.append(f"{name}: `{raw['command']}`, {raw['runtime']}, {raw['date']}.")
        except (ValueError, TypeError, KeyError) as error:
            notes.append(f"{place}/results.json cannot be read: {type(error).__name__}: {error}.")
    return Table(("language", *ROWS, f"{AGAIN}: the error"), rows), notes


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
