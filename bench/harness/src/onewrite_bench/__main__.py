"""Command line of the bench. `python -m onewrite_bench --help` lists the commands."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from onewrite_bench.failures import BenchError
from onewrite_bench.run import compare, demo, gate, jmh
from onewrite_bench.run import scenarios as bench

__all__ = ["main"]


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Exit status: 0 clean, 1 an adapter stalls, 2 inconclusive, 3 could not run, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="onewrite-bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_arguments(commands.add_parser("demo", help="the POST stall behind HAProxy, and its end, in all languages"))
    bench.add_arguments(commands.add_parser("run", help="scenarios, and the report of all that were run"))
    gate.add_arguments(commands.add_parser("gate", help="the verdict for CI: 0 clean, 1 a stall, 2 inconclusive"))
    compare.add_arguments(commands.add_parser("compare", help="a revision beside another, for CI: 1 a regression"))
    bench.add_report_arguments(commands.add_parser("report", help="the report again, from results that are there"))
    jmh.add_arguments(commands.add_parser("jmh", help="what the Java adapter's call costs beside bare Netty"))
    options = parser.parse_args()
    # Both end the helpers as well. A shell starts background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.run(options))
    except (BenchError, OSError) as error:
        print(f"onewrite bench: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("onewrite bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
