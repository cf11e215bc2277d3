"""Reads the cost per call from the results of each language's bench, and leaves out figures that are too noisy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report.table import Table

__all__ = ["MOST_ERROR", "tables"]

PLACES = ("python/bench", "ruby/bench", "node/bench", "java/bench", "bench/jmh")
ROWS = ("onewrite", "on_timing", "every event")
AGAIN, USUAL = "stock again", "200 B"
MOST_ERROR = 0.03
"""The largest difference of two processes of the stock library. Above it the figures are not published."""


def tables(repository: Path = REPOSITORY) -> tuple[Table, Table, list[str]]:
    """CPU per call as a factor of the stock library's: the first row of each language, all other rows, and notes.

    A row of a bench is called `onewrite`, or `onewrite, 20 kB` where it measures several requests. A row that is too
    noisy has only a note.
    """
    first: list[list[str]] = []
    others: list[list[str]] = []
    notes: list[str] = []
    for place in PLACES:
        path = repository / place / "results.json"
        if not path.exists():
            continue
        try:
            raw: dict[str, Any] = json.loads(path.read_text())
            requests: dict[str, dict[str, Any]] = {}
            for row in raw["rows"]:
                name, _, of = row["name"].partition(", ")
                requests.setdefault(of.replace("000 B", " kB") or USUAL, {})[name] = row
            library = f"{raw['language'].capitalize()}, {raw['base']}"
            begun = False
            for of, named in requests.items():
                error = abs(named[AGAIN]["ratio"] - 1)
                if error > MOST_ERROR:
                    notes.append(f"{library}, {of}: not written, stock against stock differs by {error:.0%}.")
                    continue
                line = [library, of, *(_ratio(named.get(name)) for name in (*ROWS, AGAIN))]
                (others if begun else first).append(line)
                begun = True
            notes.append(f"{library}: `{raw['command']}`, {raw['runtime']}, {raw['date']}.")
        except (ValueError, TypeError, KeyError) as error:
            notes.append(f"{place}/results.json cannot be read: {type(error).__name__}: {error}.")
    headings = ("library", "request", *ROWS, f"{AGAIN}: the error")
    return Table(headings, first), Table(headings, others), notes


def _ratio(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
