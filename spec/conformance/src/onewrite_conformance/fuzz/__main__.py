"""`python -m onewrite_conformance.fuzz --adapter node --count 300 --seed 1`."""

from __future__ import annotations

import argparse

from onewrite_conformance.contract.places import reports
from onewrite_conformance.fuzz.fuzzer import results_of, shares_of
from onewrite_conformance.report.console import close, explain
from onewrite_conformance.run.adapters import adapter_names
from onewrite_conformance.run.shares import judge_all

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the adapters. 0: everything came out the same; 1: something did not."""
    parser = argparse.ArgumentParser(prog="python -m onewrite_conformance.fuzz", description=__doc__)
    parser.add_argument("--adapter", action="append", choices=[*adapter_names(), "reference"], help="default: all")
    parser.add_argument("--client", action="append", help="client kind; default: all that the adapter has")
    parser.add_argument("--count", type=int, default=300, help="scenarios per adapter, shared among its kinds (300)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same scenarios (1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="shares run at the same time (default 1)")
    options = parser.parse_args(arguments)
    names = options.adapter or adapter_names()
    shares = shares_of(names, options.client, options.count, options.seed, options.jobs)
    results = results_of(list(judge_all([], shares, [], {}, {}, options.jobs)), reports())
    explain(results)
    close(results)
    return 1 if any(result.failing for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
