"""`python -m onewrite_conformance.fuzz --adapter node --count 300 --seed 1`."""

from __future__ import annotations

import argparse

from onewrite_conformance.contract.places import reports
from onewrite_conformance.fuzz.fuzzer import KINDS, fuzz
from onewrite_conformance.report.files import summary
from onewrite_conformance.run.adapters import adapter_names

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the adapters. 0: everything came out the same; 1: something did not."""
    parser = argparse.ArgumentParser(
        prog="python -m onewrite_conformance.fuzz",
        description="Runs random scenarios with adapters and with their stock libraries, and compares the results.",
    )
    parser.add_argument("--adapter", action="append", choices=[*adapter_names(), "reference"], help="default: all")
    parser.add_argument("--client", action="append", choices=KINDS, help="default: both")
    parser.add_argument("--count", type=int, default=300, help="scenarios per adapter, shared among its kinds (300)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first scenario (0)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same scenarios (1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="shares run at the same time (default 1)")
    options = parser.parse_args(arguments)
    numbers = range(options.first, options.first + options.count)
    names = options.adapter or adapter_names()
    results = fuzz(names, options.client or list(KINDS), numbers, options.seed, options.jobs, reports())
    print(summary(results))
    return 1 if any(result.failing for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
