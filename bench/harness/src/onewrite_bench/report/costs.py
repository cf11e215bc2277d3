"""Reads the cost per request from the results of each language's own bench. Noisy results have only a note.

A language's bench writes `<language>/bench/results.json`, and `results-<library>.json` for each further library:

    {"language": "python", "base": "urllib3 2.8.0", "runtime": "CPython 3.13.5", "commit": "0aab4cb2", "date":
     "2026-11-28", "command": "make -C python bench", "rows": [
      {"name": "on_timing, 20 kB", "ratio": 1.14, "min": 1.12, "max": 1.17, "n": 100}, …]}

A row is CPU per request relative to the stock library's at the same time: the median `ratio` of `n` comparisons. Its
name is one of ROWS or AGAIN. The request follows after a comma, unless it is a POST of 200 bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report.table import Table

__all__ = ["MOST_NOISE", "noise_text", "table"]

LANGUAGES = ("python", "ruby", "node", "java")
ROWS = ("onewrite", "on_timing", "OpenTelemetry")
AGAIN, USUAL = "stock again", "200 B"
REQUESTS = (USUAL, "20 kB", "GET", "TLS")
"""The published requests of a library, in order. A bench without USUAL has its first request instead."""
MOST_NOISE = 0.03
"""The largest difference of two processes of the stock library. Above it the figures are not published."""

Named = dict[str, dict[str, Any]]


def table(repository: Path = REPOSITORY) -> tuple[Table, list[str]]:
    """A row per library and request, and the notes below the table."""
    rows: list[list[str]] = []
    notes: list[str] = []
    for path in (path for one in LANGUAGES for path in sorted((repository / one / "bench").glob("results*.json"))):
        try:
            raw: dict[str, Any] = json.loads(path.read_text())
            requests: dict[str, Named] = {}
            for row in raw["rows"]:
                name, _, of = row["name"].partition(", ")
                of = of.replace("000 B", " kB").removeprefix(f"{USUAL}, ")
                requests.setdefault(of or USUAL, {})[name] = row
            library = f"{raw['base']}, {raw['runtime']}"
            first = [] if USUAL in requests else [next(iter(requests))]
            for of in (*first, *(one for one in REQUESTS if one in requests)):
                noise = abs(requests[of][AGAIN]["ratio"] - 1)
                if noise > MOST_NOISE:
                    notes.append(f"{library}, {of}: too noisy to publish ({noise:.0%}).")
                else:
                    rows.append([raw["language"], library, of, *_factors(requests[of]), noise_text(noise)])
                    rows[-1].append(str(requests[of][AGAIN]["n"]))
            notes.append(f"{raw['language']}: `{raw['command']}`, commit {raw['commit']}, {raw['date']}.")
        except (ValueError, TypeError, KeyError) as error:
            notes.append(f"{path.relative_to(repository)} cannot be read: {type(error).__name__}: {error}.")
    return Table(("language", "library", "request", *ROWS, "noise", "n"), rows), list(dict.fromkeys(notes))


def noise_text(noise: float) -> str:
    """The distance of a second measurement of stock from stock, as a table shows it."""
    return f"±{noise:.2f}"


def _factors(named: Named) -> list[str]:
    return [f"{named[name]['ratio']:.2f}" if name in named else "-" for name in ROWS]
