"""The judge's command line: `python -m onewrite_conformance --help`."""

from __future__ import annotations

import argparse
import multiprocessing
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import yaml

from onewrite_conformance.cases import Case, CaseError, coverage_faults, example_case, load_cases
from onewrite_conformance.places import LANGUAGES, SPEC, reports
from onewrite_conformance.requirements import Requirement, SpecError, read_spec
from onewrite_conformance.results import Result, Status, append_jsonl, read_jsonl, summary, write_jsonl, write_junit
from onewrite_conformance.runner import Adapter, Judge, adapters_of_checkout, reference
from onewrite_conformance.syscalls import syscall_results

__all__ = ["load_all", "main"]


def load_all() -> tuple[list[Case], dict[str, Requirement], list[str]]:
    """(cases with the examples of the text, requirements, faults of the contract)."""
    faults: list[str] = []
    requirements: dict[str, Requirement] = {}
    cases: list[Case] = []
    try:
        requirements = read_spec()
    except SpecError as error:
        faults += str(error).splitlines()
    try:
        cases = load_cases()
        for requirement in requirements.values():
            cases += [example_case(example) for example in requirement.examples]
    except CaseError as error:
        faults += str(error).splitlines()
    try:
        yaml.safe_load((SPEC / "events.yaml").read_text())
    except yaml.YAMLError as error:
        faults.append(f"events.yaml: {error}")
    if not faults:
        faults += coverage_faults(cases, requirements)
    return cases, requirements, faults


class Progress:
    """One line that says how far the judge is; on a terminal it is rewritten, elsewhere written every 15 s."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.terminal = sys.stderr.isatty()
        self.last = time.monotonic()

    def show(self, adapter: str, done: int, total: int, failed: int, path: str) -> None:
        now = time.monotonic()
        if self.quiet or now - self.last < (0.1 if self.terminal else 15.0):
            return
        self.last = now
        line = f"{adapter}: {done}/{total} runs, {failed} failed, at {path}"
        sys.stderr.write(f"\r\x1b[K{line[:150]}" if self.terminal else line + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.terminal and not self.quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m onewrite_conformance",
        description="Holds HTTP/1.1 clients against the contract in spec/. Without a choice: all four adapters.",
    )
    who = parser.add_argument_group("who is judged")
    who.add_argument(
        "--adapter", action="append", choices=[*LANGUAGES, "reference"], help="one adapter; may be repeated"
    )
    who.add_argument("--driver", metavar="COMMAND", help="any driver that speaks PROTOCOL.md")
    who.add_argument("--reference", action="store_true", help="the judge's own client, which must pass")
    who.add_argument("--break", dest="mutant", metavar="MUTANT", help="the reference with one thing broken, must fail")
    who.add_argument(
        "--client", action="append", help="client kind: onewrite, patched, stock, control; may be repeated"
    )
    what = parser.add_argument_group("what is run")
    what.add_argument("--case", action="append", metavar="PATTERN", help="case id or run path, with wildcards")
    what.add_argument("--no-stock", action="store_true", help="leave the stock clients out (no matrix)")
    what.add_argument("--check", action="store_true", help="only check texts, cases and coverage")
    what.add_argument("--list", action="store_true", help="only list the runs")
    what.add_argument("--jobs", type=int, default=1, metavar="N", help="adapters judged at the same time (default 1)")
    how = parser.add_argument_group("how it is told")
    how.add_argument("--trace", action="store_true", help="print bytes, times and segments of every run")
    how.add_argument("--quiet", action="store_true", help="no progress line")
    how.add_argument("--timeout", type=float, default=15.0, metavar="S", help="silence allowed to a driver (15)")
    how.add_argument("--reports", type=Path, help="folder for JUnit and JSON (default $ONEWRITE_REPORTS)")
    what.add_argument("--from-results", action="store_true", help="run nothing: take the results of earlier runs")
    how.add_argument("--compliance", type=Path, metavar="FILE", help="write the matrix to this file")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the judge. 0: nothing failed; 1: something failed; 2: the contract itself is at fault."""
    options = _arguments(arguments)
    cases, requirements, faults = load_all()
    folder = options.reports or reports()
    folder.mkdir(parents=True, exist_ok=True)
    contract = _contract_results(faults, requirements, cases)
    if not (options.driver or options.reference or options.mutant):
        write_junit(contract, folder / "judge-contract.xml", "judge-contract")
    for fault in faults:
        print(f"contract: {fault}", file=sys.stderr)
    if options.check:
        print(f"{len(requirements)} requirements, {len(cases)} cases, {len(faults)} faults")
        return 2 if faults else 0
    if options.list:
        return _list(cases)
    if not cases:
        return 2
    if options.from_results:
        files = [folder / f"judge-{name}.jsonl" for name in options.adapter or LANGUAGES]
        results = [result for file in files if file.exists() for result in read_jsonl(file)]
    else:
        results = _run(options, cases, requirements, folder)
    if options.compliance:
        from onewrite_conformance.compliance import write_compliance

        write_compliance(results, requirements, cases, options.compliance)
    _tell(results)
    everything = results if options.driver or options.reference or options.mutant else contract + results
    print(summary(everything))
    if faults:
        return 2
    return 1 if any(result.failing for result in results) else 0


def _contract_results(faults: list[str], requirements: dict[str, Requirement], cases: list[Case]) -> list[Result]:
    """The state of texts and cases as one result."""
    title = f"{len(requirements)} requirements and {len(cases)} cases agree"
    status = Status.DEVIATES if faults else Status.OK
    return [Result("contract", "contract", "contract", "", "", "", [], "MUST", status, faults, title=title)]


def _list(cases: list[Case]) -> int:
    for case in cases:
        for client in case.clients:
            for run in case.runs(client):
                print(f"{run.path:<60} {' '.join(case.covers):<20} {case.title}")
    return 0


def _adapters(options: argparse.Namespace) -> list[Adapter]:
    if options.driver:
        return [Adapter("driver", shlex.split(options.driver), witness=False)]
    if options.mutant or options.reference:
        return [reference(options.mutant)]
    names = options.adapter or list(LANGUAGES)
    plain = [name for name in names if name != "reference"]
    return (adapters_of_checkout(plain) if plain else []) + ([reference()] if "reference" in names else [])


def _run(
    options: argparse.Namespace, cases: list[Case], requirements: dict[str, Requirement], folder: Path
) -> list[Result]:
    """Judge the chosen adapters, `--jobs` of them at a time, each in a process of its own."""
    adapters = _adapters(options)
    if options.jobs < 2 or len(adapters) < 2 or options.trace:
        return [one for adapter in adapters for one in _judge_one(adapter, options, cases, requirements, folder)]
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_judge_one, adapter, options, cases, requirements, folder) for adapter in adapters]
        return [one for future in waiting for one in future.result()]


def _judge_one(
    adapter: Adapter,
    options: argparse.Namespace,
    cases: list[Case],
    requirements: dict[str, Requirement],
    folder: Path,
) -> list[Result]:
    # The tap's threads must not wait 5 ms for the thread that compares.
    sys.setswitchinterval(0.0005)
    progress = Progress(options.quiet or options.trace)
    trace = _print if options.trace else None
    judge = Judge(
        adapter,
        cases,
        requirements,
        clients=options.client,
        only=options.case,
        stock=not options.no_stock,
        trace=trace,
        timeout_s=options.timeout,
    )
    total = sum(1 for _ in judge.runs())
    results: list[Result] = []
    name = f"judge-{adapter.name}" + (f"-{options.mutant}" if options.mutant else "")
    started = time.monotonic()
    (folder / f"{name}.jsonl").unlink(missing_ok=True)
    for result in judge.results():
        results.append(result)
        append_jsonl(result, folder / f"{name}.jsonl")  # a judge that is interrupted leaves what it has seen
        if options.trace:
            _print(f"-> {result.status}: {'; '.join(result.problems + result.notes)}")
        failed = sum(1 for one in results if one.failing)
        progress.show(adapter.name, len(results), total, failed, result.path)
    progress.clear()
    if not options.case and not options.client and adapter.witness:
        results += syscall_results(adapter, judge.kinds)
    results += judge.stale()
    _print(f"{adapter.name:<10} {judge.base}: {summary(results)} in {time.monotonic() - started:.1f} s")
    write_junit(results, folder / f"{name}.xml", name)
    write_jsonl(results, folder / f"{name}.jsonl")
    return results


def _print(line: str) -> None:
    print(line, flush=True)


def _ends_of(lines: list[str], most: int = 14) -> list[str]:
    """The beginning and, of a long trace, the end."""
    return lines if len(lines) <= most else [*lines[:3], "…", *lines[-(most - 4) :]]


def _tell(results: list[Result]) -> None:
    """Print what failed and what warns."""
    for result in results:
        if not result.judged or result.status in (Status.OK, Status.NOT_APPLICABLE):
            continue
        lines = result.problems + result.notes
        text = "\n    ".join(line for text in lines[:6] for line in _ends_of(text.splitlines()))
        print(f"\n{result.status.upper()} {result.adapter}: {result.path} [{' '.join(result.covers)}] {result.title}")
        print(f"    {text}")
    if any(result.failing for result in results):
        print("\nto see one run on the wire: python -m onewrite_conformance --trace --adapter NAME --case PATH")
