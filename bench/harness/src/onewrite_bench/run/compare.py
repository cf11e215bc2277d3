"""`compare`: this checkout, or a revision, beside another, on one machine and in one run.

A revision is set up in a folder of its own, by `make driver` of each language. Then three processes take turns with
each client of the scenario `per-call-cost` that is onewrite: the head's, the base's, and the base's once more as the
control (verdict/regress.py). `bench/bench-compare` runs it with its own exit status.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BUILD, REPOSITORY
from onewrite_bench.report import comparison
from onewrite_bench.report import write as report
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client, Group, Scenario
from onewrite_bench.verdict.regress import ROLES
from onewrite_bench.verdict.rule import REGRESSIONS

__all__ = ["add_arguments", "plan"]

WORDS = {0: "nothing is worse", 1: "a regression", 2: "inconclusive", 130: "interrupted"}
ADAPTERS = ("onewrite", "patched")
"""The kinds of client that use an adapter."""


@dataclass(frozen=True)
class Revision:
    """A checkout, and how it is called."""

    name: str
    path: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", help="a revision, as git names it: main, HEAD~1, v0.1.0")
    parser.add_argument("--head", help="another revision; default: this checkout, with what is not committed")
    parser.add_argument("--languages", help="comma-separated; default: all")
    parser.add_argument("--rounds", type=int, default=6, help="per process; default: %(default)s")
    parser.add_argument("--requests", type=int, default=200, help="per round; default: %(default)s")
    parser.add_argument("--out", type=Path, default=BUILD / "compare", metavar="DIR", help="where results go")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    console = Console()
    languages = drivers.chosen(options.languages)
    base = _revision(options.base, options.out)
    head = Revision("this checkout", REPOSITORY) if options.head is None else _revision(options.head, options.out)
    for revision in (base, head):
        for language in languages:
            console.say(f"{revision.name}: make -C {language} driver")
            drivers.build(language, revision.path)
    compared = plan(scenario.load("per-call-cost"), base, head, languages, options.rounds, options.requests)
    console.say(compared.title)
    command = f"make -C bench compare BASE={options.base}" + (f" HEAD={options.head}" if options.head else "")
    run = execute(compared, console, command, rule=REGRESSIONS)
    print(comparison.text(run), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    report.save(run, options.out)
    (options.out / "COMPARE.md").write_text(comparison.markdown(run))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a") as file:
            file.write(comparison.markdown(run))
    print(f"compare: exit status {run.exit_status}: {WORDS[run.exit_status]}", flush=True)
    return run.exit_status


def plan(
    costs: Scenario, base: Revision, head: Revision, languages: Sequence[str], rounds: int, requests: int
) -> Scenario:
    """One group per client that is onewrite: the head's process, the base's, and the base's again."""
    groups = []
    for group in costs.groups:
        for client in group.clients:
            if group.language in languages and client.kind in ADAPTERS and not (client.competitor or client.language):
                groups.append(_group(group, client, base, head))
    return replace(
        costs,
        name="compare",
        title=f"{head.name} beside {base.name}",
        groups=tuple(groups),
        parameters={**costs.parameters, "rounds": rounds, "requests": requests, "round": requests},
    )


def _group(group: Group, client: Client, base: Revision, head: Revision) -> Group:
    places = {"head": head, "base": base, "again": base}
    clients = tuple(replace(client, label=role, role=role, checkout=str(places[role].path)) for role in ROLES)
    return replace(group, name=f"{group.name}: {client.label}", clients=clients)


def _revision(name: str, out: Path) -> Revision:
    """Bring a revision into a folder of its own, which later runs use again."""
    commit = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
    if not commit:
        raise BenchError(f"git knows no revision {name!r} here; of a shallow clone, fetch it first")
    path = out / "checkouts" / commit
    if not (path / ".complete").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            archive.extractall(path)  # of this repository's own making
        (path / ".complete").touch()
    return Revision(f"{name} ({commit[:10]})", path.resolve())


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=REPOSITORY, stdout=subprocess.PIPE, check=False).stdout
