"""Judges runs in several processes. Each process has its own drivers, of one client."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from onewrite_conformance.contract.cases import Run
from onewrite_conformance.run.judge import Judge

__all__ = ["Share", "brief", "judge_all", "shares_of"]


@dataclass
class Share:
    """Runs of one client of an adapter, or a `task` that gets the adapter's judge."""

    adapter: str
    paths: list[str] = field(default_factory=list)
    task: Callable[[Judge], Any] | None = None


def brief(judge: Judge, *, each_client: bool = False) -> list[Run]:
    """One run of each case, or one for each client: another client, scheme and route from case to case.

    The cases of one environment have the same client, for each client starts another driver.
    """
    chosen = []
    environments: list[dict[str, str]] = [{}]
    for number, case in enumerate(judge.cases):
        runs = [run for run in judge.by_path.values() if run.case.id == case.id]
        runs = [run for run in runs if not judge.why_not(run)] or runs[:1]
        clients = list(dict.fromkeys(run.client for run in runs))
        if case.env not in environments:
            environments.append(case.env)
        turn = environments.index(case.env) if case.env else number
        for client in clients if each_client else clients[turn % len(clients) :][:1] if clients else ():
            own = [run for run in runs if run.client == client]
            chosen.append(own[number // len(clients) % len(own)])
    return chosen


def shares_of(runs: Iterable[Run], adapter: str, parts: int) -> list[Share]:
    """The runs by client, and each client's in so many parts."""
    clients: dict[str, list[str]] = {}
    for run in runs:
        clients.setdefault(run.client, []).append(run.path)
    shares = []
    for paths in clients.values():
        size = -(-len(paths) // parts)
        shares += [Share(adapter, paths[at : at + size]) for at in range(0, len(paths), size)]
    return shares


def judge_all(judges: dict[str, Judge], shares: list[Share], jobs: int) -> Iterator[list[Any]]:
    """Judge the shares, `jobs` at a time. Yields the results of each, in the order in which they end."""
    if jobs < 2:
        yield from (_judge(judges[share.adapter], share) for share in shares)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["onewrite_conformance.cli"])  # its imports take half a second
    with ProcessPoolExecutor(jobs, context, initializer=_end_with_parent) as pool:
        for done in as_completed([pool.submit(_judge, judges[share.adapter], share) for share in shares]):
            yield done.result()


def _judge(judge: Judge, share: Share) -> list[Any]:
    # The tap's threads must not wait 5 ms for the thread that compares.
    sys.setswitchinterval(0.0005)
    with judge:
        return [share.task(judge)] if share.task is not None else list(judge.results(share.paths))


def _end_with_parent() -> None:
    """End this process as soon as the judge has ended, killed or not. The drivers end when their stdin does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
