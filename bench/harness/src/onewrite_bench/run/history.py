"""`history`: adds the last run's results under its commit, and draws the page of all results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BUILD
from onewrite_bench.report import history, trend

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a line of JSON per commit")
    parser.add_argument("--add", metavar="COMMIT", help="add the results of --out as those of this commit")
    parser.add_argument("--date", help="when that was, as ISO 8601 writes it")
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="where the results are")
    parser.add_argument("--page", type=Path, metavar="FILE", help="draw the page, as Markdown")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.add:
        source = options.out / "history.json"
        if not options.date:
            raise BenchError("say when: --date")
        if not source.is_file():
            raise BenchError(f"no results in {options.out}: run `make bench` first")
        points = history.add(options.file, json.loads(source.read_text()), options.add, options.date)
        print(f"{options.file}: {len(points)} commits")
    if options.page:
        options.page.parent.mkdir(parents=True, exist_ok=True)
        options.page.write_text(trend.page(history.read(options.file)))
    return 0
