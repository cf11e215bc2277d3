"""Command line of the bench. `python -m onewrite_bench --help` lists the commands."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from onewrite_bench.failures import BenchError
from onewrite_bench.report import write
from onewrite_bench.run import demo, jmh, scenarios, stand

__all__ = ["main"]


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _publish(_: argparse.Namespace) -> int:
    for page in write.publish():
        print(f"{page}: written")
    return 0


def main() -> int:
    """Exit status: 0 clean, 1 an adapter is at fault, 2 inconclusive, 3 could not run, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="onewrite-bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_arguments(commands.add_parser("demo", help="the POST stall behind HAProxy, and its end, in all languages"))
    scenarios.add_arguments(commands.add_parser("run", help="scenarios, and the report of all that were run"))
    scenarios.add_gate_arguments(commands.add_parser("gate", help="the verdict for CI: 0 clean, 1 a fault"))
    jmh.add_arguments(commands.add_parser("jmh", help="Java's benchmarks, by JMH: the cost of a POST, and the stall"))
    stand.add_arguments(commands.add_parser("stand", help="start a frontend that stalls, to try things by hand"))
    publish = commands.add_parser("publish", help="RESULTS.md and the tables of the pages, from the kept results")
    publish.set_defaults(run=_publish)
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
