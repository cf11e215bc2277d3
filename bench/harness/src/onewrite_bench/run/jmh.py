"""`jmh`: what the Java adapter's call costs beside bare Netty."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from onewrite_bench.console import Console
from onewrite_bench.engines.jmh import measure, shortcut
from onewrite_bench.paths import BUILD
from onewrite_bench.report import write as report

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.add_argument("arguments", nargs="*", help="for JMH, after --; a shortcut is not published")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    arguments = [argument for argument in options.arguments if argument != "--"]
    run, raw = measure(arguments, Console())
    print(report.text(run))
    reason = shortcut(raw)
    if reason is not None:
        print(f"jmh: not put into the report: {reason}", file=sys.stderr)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "jmh-raw").mkdir(exist_ok=True)
    (options.out / "jmh-raw" / "jmh.json").write_text(json.dumps(raw, indent=1) + "\n")
    report.save(run, options.out)
    report.write(options.out, options.results)
    return 0
