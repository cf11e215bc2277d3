"""Judges runs in several processes, each with its own drivers."""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing.queues import Queue
from typing import Any

from onewrite_conformance.contract.cases import Run
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.plan import Plan, Share, length_s
from onewrite_conformance.run.syscalls import syscall_result

__all__ = ["draw", "judge_all", "shares_of"]

SAME = 0.17  # at most this part of the workers judges the same client, where there are several adapters


def draw(judge: Judge, seed: int, sample: int | None = None, *, each_client: bool = False) -> list[list[Run]]:
    """Of each case the runs that may apply, that with the least used client, scheme and route first: one is judged.

    With `sample` of so many cases alone, with `each_client` of each case those of each client apart. The cases of one
    environment have the same client, for each client starts another driver.
    """
    chance = random.Random(f"{seed}/{judge.adapter.name}")
    groups: dict[str, list[Run]] = {}
    for run in judge.by_path.values():
        groups.setdefault(f"{run.case.id}/{run.client}" if each_client else run.case.id, []).append(run)
    used: Counter[tuple[str, str, str]] = Counter()
    clients: dict[tuple[tuple[str, str], ...], str] = {}  # by environment
    drawn = []
    for name in chance.sample(list(groups), min(len(groups), sample or len(groups))):
        runs = [run for run in groups[name] if not judge.why_not(run)] or groups[name]
        chance.shuffle(runs)
        env = tuple(sorted(runs[0].case.env.items()))
        runs.sort(key=lambda run: (run.client != clients.get(env, run.client), used[run.combination]))
        used[runs[0].combination] += 1
        if env:
            clients.setdefault(env, runs[0].client)
        drawn.append(runs)
    return drawn


def shares_of(judge: Judge, chosen: Iterable[list[Run]], traced: Iterable[str] = ()) -> list[Share]:
    """The runs in shares: a case and a client each. Cases with the same environment stay together, for they start
    drivers. The syscall witness sees each client kind of `traced`."""
    name = judge.adapter.name
    groups: dict[tuple[object, ...], Share] = {}
    for runs in chosen:
        first = runs[0]
        key = first.client, tuple(sorted(first.case.env.items())) or first.case.id
        share = groups.setdefault(key, Share(name, first.client, seconds=0.0))
        share.paths.append([run.path for run in runs])
        share.seconds += length_s(first.case)
    return [*(Share(name, kind, traced=True) for kind in traced), *groups.values()]


def judge_all(judges: dict[str, Judge], shares: list[Share], jobs: int) -> Iterator[Any]:
    """Judge the shares, `jobs` at a time; results as they come, each run once, and the values of tasks."""
    alone = len({share.adapter for share in shares}) == 1
    plan = Plan(shares, most=jobs if alone else math.ceil(jobs * SAME))
    if jobs < 2:
        yield from _work(iter(lambda: plan.next(0), None), judges)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["onewrite_conformance.cli"])  # its imports take half a second
    # A worker's queue holds the share that it works on, and nothing else: who is free first gets the next one.
    waiting: list[Queue[Share | None]] = [context.Queue() for _ in range(jobs)]
    found: Queue[Any] = context.Queue()
    workers = [
        context.Process(target=_worker, args=(number, waiting[number], found, judges), daemon=True)
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


def _worker(number: int, waiting: Queue[Share | None], found: Queue[Any], judges: dict[str, Judge]) -> None:
    end_with_parent()

    def ask() -> Share | None:
        found.put(number)
        return waiting.get()

    for result in _work(iter(ask, None), judges):
        found.put(result)
    found.put(None)


def _work(shares: Iterator[Share | None], judges: dict[str, Judge]) -> Iterator[Any]:
    # The tap's threads must not wait 5 ms for the thread that compares.
    sys.setswitchinterval(0.0005)
    judge: Judge | None = None
    try:
        for share in shares:
            assert share is not None
            if judge is not None and judge is not judges[share.adapter]:
                judge.close()
            judge = judges[share.adapter]
            if share.task is not None:
                yield share.task(judge)
            if share.traced:
                yield syscall_result(judge.adapter, share.client)
            yield from judge.results([judge.by_path[path] for path in paths] for paths in share.paths)
    finally:
        if judge is not None:
            judge.close()
