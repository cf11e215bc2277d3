"""The judge's command line: `python -m onewrite_conformance --help`."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from onewrite_conformance.contract.cases import Case, CaseError, read_cases
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.places import reports
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.fuzz.fuzzer import Part, results_of
from onewrite_conformance.fuzz.fuzzer import shares_of as fuzz_shares
from onewrite_conformance.report.compliance import write_compliance
from onewrite_conformance.report.console import explain, print_progress, print_summary
from onewrite_conformance.report.files import summary, write_junit
from onewrite_conformance.run.adapters import Adapter, adapter_names, adapters_of_checkout, of_command
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.parallel import Share, brief, judge_all, shares_of
from onewrite_conformance.run.result import Result, Status

__all__ = ["main"]

MEETING = 8  # drivers that start at the same time


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="onewrite-conformance",
        description="Tests HTTP/1.1 clients against the contract; by default every adapter of this checkout.",
    )
    who = parser.add_argument_group("clients to test")
    who.add_argument("--adapter", action="append", choices=adapter_names(), help="one adapter; may be repeated")
    who.add_argument(
        "--driver",
        action="append",
        metavar="COMMAND",
        help="a driver that speaks PROTOCOL.md: a command, or a folder with driver/run. May be repeated",
    )
    who.add_argument(
        "--client",
        action="append",
        help="client kind: onewrite, patched, stock; or a second base library's: "
        "node:http, httpx, reactor-netty. May be repeated",
    )
    what = parser.add_argument_group("cases to run")
    what.add_argument(
        "case", nargs="*", metavar="PATH", help="wire (a family), wire/4 (a requirement), a case, a run, or wildcards"
    )
    what.add_argument("--brief", action="store_true", help="one run of each case per adapter. No stock clients")
    what.add_argument("--no-stock", action="store_true", help="leave the stock clients out (no matrix)")
    what.add_argument(
        "--fuzz",
        type=int,
        default=0,
        metavar="N",
        help="also run N random scenarios with each adapter; with --brief with one of its clients; the path "
        "same/fuzz leaves out the cases",
    )
    what.add_argument("--seed", type=int, default=1, metavar="N", help="makes the random scenarios (1)")
    what.add_argument(
        "--env", action="append", metavar="NAME=VALUE", help="environment of every driver process; may be repeated"
    )
    what.add_argument(
        "--script", type=Path, metavar="FILE", help="the cases of this file, such as a script that differed from stock"
    )
    what.add_argument("--check", action="store_true", help="only check texts, cases and coverage")
    what.add_argument("--list", action="store_true", help="only list the runs")
    what.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes that judge at the same time (default 1)"
    )
    how = parser.add_argument_group("output")
    how.add_argument("--trace", action="store_true", help="print bytes, times and segments of every run")
    how.add_argument("--quiet", action="store_true", help="no progress line")
    how.add_argument("--reports", type=Path, help="folder for JUnit files (default $ONEWRITE_REPORTS)")
    how.add_argument(
        "--compliance", type=Path, metavar="FILE", help="run each case once by each client, and write the matrix"
    )
    return parser.parse_intermixed_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the judge. 0: nothing failed; 1: something failed; 2: the contract itself is at fault."""
    options = _arguments(arguments)
    cases, requirements, faults = load_all()
    folder = options.reports or reports()
    folder.mkdir(parents=True, exist_ok=True)
    contract = _contract_results(faults, requirements, cases)
    if not options.driver:
        write_junit(contract, folder / "judge-contract.xml", "judge-contract")
    for fault in faults:
        print(f"contract: {fault}", file=sys.stderr)
    if options.check:
        print(f"{len(requirements)} requirements, {len(cases)} cases, {len(faults)} faults")
        return 2 if faults else 0
    if options.list:
        return _list(cases)
    if options.script:
        try:
            cases = read_cases([options.script])
        except (CaseError, OSError) as error:
            print(f"{options.script}: {error}", file=sys.stderr)
            return 2
    if not cases:
        return 2
    results = _run(options, cases, folder)
    if options.compliance:
        stock = {one.name: one.stock for one in _adapters(options) if one.stock}
        write_compliance(results, requirements, stock, options.compliance)
    explain(results)
    everything = results if options.driver else contract + results
    print_summary(everything)
    if faults:
        return 2
    return 1 if any(result.failing for result in results) else 0


def _contract_results(faults: list[str], requirements: dict[str, Requirement], cases: list[Case]) -> list[Result]:
    """The faults of texts and cases as one result."""
    title = f"{len(requirements)} requirements and {len(cases)} cases agree"
    status = Status.DEVIATES if faults else Status.OK
    return [Result("contract", "contract", "contract", "", "", "", "", status, faults, title=title)]


def _list(cases: list[Case]) -> int:
    for case in cases:
        for client in ("onewrite", "patched"):
            for run in case.runs(client):
                print(f"{run.path:<60} {case.title}")
    return 0


def _adapters(options: argparse.Namespace) -> list[Adapter]:
    if options.driver:
        adapters = [*adapters_of_checkout(options.adapter or []), *map(of_command, options.driver)]
    else:
        adapters = adapters_of_checkout(options.adapter)
    for pair in options.env or ():
        name, _, value = pair.partition("=")
        for adapter in adapters:
            adapter.env[name] = value
    return adapters


def _run(options: argparse.Namespace, cases: list[Case], folder: Path) -> list[Result]:
    """Judge the chosen adapters, `--jobs` shares at a time; then what failed again, alone."""
    judges = {
        adapter.name: Judge(
            adapter,
            cases,
            clients=options.client,
            only=options.case,
            stock=not options.no_stock and (not options.brief or options.compliance is not None),
            whole=not options.brief and options.script is None,
            trace=_print if options.trace else None,
        )
        for adapter in _adapters(options)
    }
    with ThreadPoolExecutor(MEETING) as pool:
        for judge in judges.values():
            clients = {run.client for run in judge.by_path.values()} | {*(judge.adapter.own if options.fuzz else ())}
            pool.map(judge.learn_capabilities, clients)
    for warning in sorted(line for judge in judges.values() for line in judge.warnings):
        print(f"warning: {warning} (PROTOCOL.md has all)", file=sys.stderr)
    jobs = 1 if options.trace else options.jobs
    each_client = options.compliance is not None
    chosen = {
        name: brief(judge, each_client=each_client) if options.brief or each_client else [*judge.by_path.values()]
        for name, judge in judges.items()
    }
    groups = {(name, run.client) for name, runs in chosen.items() for run in runs}
    shares: list[Share] = []
    for name, judge in judges.items():
        if options.fuzz:
            shares += fuzz_shares(judge, options.client, options.fuzz, options.seed, jobs, one=options.brief)
        shares += shares_of(chosen[name], name, max(1, jobs // max(1, len(groups))))
    if jobs > 1:
        for judge in judges.values():
            judge.close()  # each process starts its own drivers
    results: dict[str, list[Result]] = {name: [] for name in judges}
    parts: list[Part] = []  # of the random scenarios
    quiet = options.quiet or options.trace
    for done in judge_all(judges, shares, jobs):
        if isinstance(done[0], Part):
            parts += done
            continue
        results[done[0].adapter] += done
        if not quiet:
            failed = sum(one.failing for one in done)
            print_progress(f"{done[0].adapter} {done[0].client}: {len(done)} runs, {failed} failed at first")
    for name, judge in judges.items():
        judge.finish(results[name], (lambda line: None) if quiet else print_progress)
        if not results[name]:  # random scenarios alone
            continue
        seconds = sum(one.seconds for one in results[name])
        _print(f"{name:<10} {_base(results[name])}: {summary(results[name])}, {seconds:.0f} s of runs")
        write_junit(results[name], folder / f"judge-{name}.xml", f"judge-{name}")
    return [one for done in results.values() for one in done] + results_of(parts, judges, folder)


def _base(results: list[Result]) -> str:
    """Base library and runtime of the own client, or else of another client."""
    bases = {result.client: result.base for result in results if result.base}
    return bases.get("onewrite") or next(iter(bases.values()), "no driver")


def _print(line: str) -> None:
    print(line, flush=True)
