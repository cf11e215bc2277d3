"""Judges runs in several processes, each with its own drivers."""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import random
import sys
import threading
from collections.abc import Iterator
from multiprocessing.queues import Queue
from typing import Any

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.plan import Plan, Share, length_s
from onewrite_conformance.run.result import Status
from onewrite_conformance.run.syscalls import syscall_result

__all__ = ["Order", "end_with_parent", "judge_all", "shares_of"]

SAME = 0.17  # at most this part of the workers judges the same client, where there are several adapters

Order = dict[str, Any]  # the keyword arguments of Judge


def shares_of(judge: Judge, *, traced: bool) -> list[Share]:
    """The runs of an adapter in shares: a case and a client each. Cases with the same environment stay together, for
    they start drivers; so do the runs of which one is drawn. With `traced` the syscall witness sees each client kind,
    or in a draw one of them."""
    name = judge.adapter.name
    drawn = {} if judge.draw is None else {run.path: runs[0] for runs in judge.drawn().values() for run in runs}
    groups: dict[tuple[object, ...], Share] = {}
    for run in judge.runs():
        first = drawn.get(run.path, run)
        client = first.client
        key = client, tuple(sorted(run.case.env.items())) or run.case.id
        share = groups.setdefault(key, Share(name, client, seconds=0.0))
        share.paths.append(run.path)
        if run.path == first.path:
            share.seconds += length_s(run.case)
    kinds = list(judge.adapter.own if traced else ())
    if judge.draw is None:
        return [*(Share(name, kind, traced_kinds=[kind]) for kind in kinds), *groups.values()]
    random.Random(f"{judge.draw}/{name}").shuffle(kinds)
    return [*([Share(name, kinds[0], traced_kinds=kinds)] if kinds else []), *groups.values()]


def judge_all(
    adapters: list[Adapter],
    shares: list[Share],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
    jobs: int,
) -> Iterator[Any]:
    """Judge the shares, `jobs` at a time; results as they come, each run once, and the values of tasks."""
    by_name = {adapter.name: adapter for adapter in adapters}
    alone = len({share.adapter for share in shares}) == 1
    plan = Plan(shares, most=jobs if alone else math.ceil(jobs * SAME))
    if jobs < 2:
        yield from _work(iter(lambda: plan.next(0), None), by_name, cases, requirements, order)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["onewrite_conformance.cli"])  # its imports take half a second
    # A worker's queue holds the share that it works on, and nothing else: who is free first gets the next one.
    waiting: list[Queue[Share | None]] = [context.Queue() for _ in range(jobs)]
    found: Queue[Any] = context.Queue()
    workers = [
        context.Process(
            target=_worker, args=(number, waiting[number], found, by_name, cases, requirements, order), daemon=True
        )
        for number in range(jobs)
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
            elif isinstance(result, int):
                waiting[result].put(plan.next(result))
            else:
                yield result
    finally:
        for worker in workers:
            # A worker that is still busy was interrupted; its drivers end when their stdin does.
            worker.join(timeout=10.0 if ended == jobs else 0.0)
            worker.terminate()


def end_with_parent() -> None:
    """End this process as soon as the judge has ended, killed or not. The drivers end when their stdin does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _worker(
    number: int,
    waiting: Queue[Share | None],
    found: Queue[Any],
    adapters: dict[str, Adapter],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
) -> None:
    end_with_parent()

    def ask() -> Share | None:
        found.put(number)
        return waiting.get()

    for result in _work(iter(ask, None), adapters, cases, requirements, order):
        found.put(result)
    found.put(None)


def _work(
    shares: Iterator[Share | None],
    adapters: dict[str, Adapter],
    cases: list[Case],
    requirements: dict[str, Requirement],
    order: Order,
) -> Iterator[Any]:
    # The tap's threads must not wait 5 ms for the thread that compares.
    sys.setswitchinterval(0.0005)
    judge: Judge | None = None
    try:
        for share in shares:
            assert share is not None
            if share.task is not None:
                yield share.task()
                continue
            adapter = adapters[share.adapter]
            if judge is None or judge.adapter is not adapter:
                if judge is not None:
                    judge.close()
                judge = Judge(adapter, cases, requirements, **order)
            for kind in share.traced_kinds:
                yield (traced := syscall_result(adapter, kind))
                if traced.status != Status.NOT_APPLICABLE:
                    break
            if share.paths:
                yield from judge.results(share.paths)
    finally:
        if judge is not None:
            judge.close()
