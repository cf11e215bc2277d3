"""Judges runs in several processes: shares of work, the longest first, each worker with drivers of its own."""

from __future__ import annotations

import multiprocessing
import queue
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from typing import Any

from onewrite_conformance.contract.cases import Case, Run
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Result
from onewrite_conformance.run.syscalls import syscall_result

__all__ = ["Order", "Share", "judge_all", "shares_of"]

CASES_PER_SHARE = 12
# Adapters by the time that their runs take, longest first, so that no long share is left for the end.
SLOWEST = ("java", "node", "python", "ruby")

Order = dict[str, Any]  # the keyword arguments of Judge


@dataclass
class Share:
    """Runs of one adapter, or its client kinds for the syscall witness."""

    adapter: str
    paths: list[str] = field(default_factory=list)
    traced_kinds: list[str] = field(default_factory=list)


def shares_of(judge: Judge, *, traced: bool) -> list[Share]:
    """The runs of an adapter in shares. Cases with an environment of their own start drivers, so they stay together
    and come first."""
    groups: dict[tuple[tuple[str, str], ...], dict[str, list[Run]]] = {}
    for run in judge.runs():
        env = tuple(sorted(run.case.env.items()))
        groups.setdefault(env, {}).setdefault(run.case.id, []).append(run)
    shares = [Share(judge.adapter.name, traced_kinds=[kind]) for kind in judge.adapter.own if traced]
    for env, by_case in sorted(groups.items(), reverse=True):
        cases = list(by_case.values())
        most = len(cases) if env else CASES_PER_SHARE
        for at in range(0, len(cases), most):
            paths = [run.path for runs in cases[at : at + most] for run in runs]
            shares.append(Share(judge.adapter.name, paths))
    return shares


def judge_all(
    adapters: list[Adapter],
    shares: list[Share],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
    jobs: int,
) -> Iterator[Result]:
    """Judge the shares, `jobs` at a time; results as they come, each run once."""
    by_name = {adapter.name: adapter for adapter in adapters}
    rank = {name: SLOWEST.index(name) if name in SLOWEST else -1 for name in by_name}
    shares = sorted(shares, key=lambda share: rank[share.adapter])
    if jobs < 2:
        yield from _work(iter(shares), by_name, cases, requirements, order)
        return
    context = multiprocessing.get_context("spawn")
    waiting: Queue[Share | None] = context.Queue()
    found: Queue[Result | None] = context.Queue()
    for share in [*shares, *[None] * jobs]:
        waiting.put(share)
    workers = [
        context.Process(target=_worker, args=(waiting, found, by_name, cases, requirements, order), daemon=True)
        for _ in range(jobs)
    ]
    for worker in workers:
        worker.start()
    try:
        ended = 0
        while ended < jobs:
            try:
                result = found.get(timeout=1.0)
            except queue.Empty:
                broken = [worker.exitcode for worker in workers if worker.exitcode]
                if broken:
                    raise RuntimeError(f"a process of the judge ended with status {broken[0]}") from None
                continue
            if result is None:
                ended += 1
            else:
                yield result
    finally:
        for worker in workers:
            # A worker that is still busy was interrupted; its drivers end when their stdin does.
            worker.join(timeout=10.0 if ended == jobs else 0.0)
            worker.terminate()


def _worker(
    waiting: Queue[Share | None],
    found: Queue[Result | None],
    adapters: dict[str, Adapter],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
) -> None:
    for result in _work(iter(waiting.get, None), adapters, cases, requirements, order):
        found.put(result)
    found.put(None)


def _work(
    shares: Iterator[Share | None],
    adapters: dict[str, Adapter],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
) -> Iterator[Result]:
    # The tap's threads must not wait 5 ms for the thread that compares.
    sys.setswitchinterval(0.0005)
    judge: Judge | None = None
    try:
        for share in shares:
            assert share is not None
            adapter = adapters[share.adapter]
            if judge is None or judge.adapter is not adapter:
                if judge is not None:
                    judge.close()
                judge = Judge(adapter, cases, requirements, **order)
            for kind in share.traced_kinds:
                yield syscall_result(adapter, kind)
            if share.paths:
                yield from judge.results(share.paths)
    finally:
        if judge is not None:
            judge.close()
