"""`onewrite watch`: samples until the process ends, the time is over, or the user has seen enough."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.witness import AVAILABLE, WitnessError

from onewrite_cli import __version__
from onewrite_cli.check.run import background
from onewrite_cli.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.watch.ledger import Ledger
from onewrite_cli.watch.sockets import HOLD_MS, WatchedSocket, Watcher
from onewrite_cli.width import columns, fitted

__all__ = ["WatchOptions", "table", "watch"]

SAMPLE_S = 0.01
SHOW_S = 0.5
SHOWN = 40
FIGURES = 39  # columns, beside those of the two names
CLEAR = "\x1b[H\x1b[J"


@dataclass
class WatchOptions:
    """What the user said: a pid, or a command."""

    command: list[str]
    pid: int | None = None
    seconds: int | None = None
    allow: Path | None = None
    format: str = "text"


def watch(options: WatchOptions) -> ExitStatus:
    """Raises CouldNotRun."""
    if (options.pid is None) is (not options.command):
        raise CouldNotRun("say --pid N, or a command after two dashes: onewrite watch -- CMD")
    if not AVAILABLE:
        raise CouldNotRun("reading another process's sockets needs Linux")
    ledger = Ledger(options.allow) if options.allow else None
    if options.pid is not None:
        watcher = Watcher(options.pid)
        _sample(watcher, options)
        ended = None
    else:
        with background(options.command, dict(os.environ), show=True) as child:
            watcher = Watcher(child.pid)
            _sample(watcher, options, child.poll)
            ended = child.poll()
    return _report(watcher, options, ledger, ended)


def _sample(watcher: Watcher, options: WatchOptions, poll: object = None) -> None:
    """Until the end, which an interrupt is, too. Raises CouldNotRun when nothing may be read."""
    live = options.format == "text" and sys.stdout.isatty()
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    shown = 0.0
    with _interruptible() as interrupted:
        while not interrupted and (now := time.monotonic()) < deadline:
            if callable(poll) and poll() is not None:
                return
            try:
                watcher.sample()
            except WitnessError as error:
                raise CouldNotRun(str(error)) from error
            except ProcessLookupError:
                if not watcher.samples:
                    raise CouldNotRun(f"there is no process {watcher.pid}") from None
                return
            if live and now - shown >= SHOW_S:
                shown = now
                print(f"{CLEAR}{table(list(watcher.sockets.values()))}\n\nCtrl-C ends this", flush=True)
            time.sleep(SAMPLE_S)


@contextlib.contextmanager
def _interruptible() -> Iterator[list[int]]:
    """SIGINT ends the samples, and the report follows."""
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _report(watcher: Watcher, options: WatchOptions, ledger: Ledger | None, ended: int | None) -> ExitStatus:
    sockets = sorted(watcher.sockets.values(), key=lambda one: (-one.holds, one.nodelay, one.name))
    if ledger:
        faults = [one for one in sockets if one.was_off and not ledger.allows(one)]
    else:
        faults = [one for one in sockets if one.was_off and one.holds]
    problem = None
    if not sockets:
        problem = "no TCP connection was seen"
    elif ended:
        problem = f"the command ended with status {ended}"
    status = ExitStatus.FOUND if faults else ExitStatus.INCONCLUSIVE if problem else ExitStatus.CLEAN
    notes = [f"{line} is in the ledger and not needed: take it out" for line in ledger.unused(sockets)] if ledger else []
    if options.format == "json":
        print(json.dumps(_data(watcher, sockets, faults, status, problem, notes), indent=2))
        return status
    print(f"onewrite watch: {watcher.samples} samples\n{table(sockets)}")
    for note in notes:
        print(f"note: {note}")
    if faults:
        why = "not in the ledger" if ledger else f"Nagle on, and bytes held for {HOLD_MS} ms or more"
        print(f"\nfound: {', '.join(sorted({one.name for one in faults}))}: {why}")
    else:
        print(f"\n{f'inconclusive: {problem}' if problem else 'clean'}")
    return status


def table(sockets: list[WatchedSocket]) -> str:
    """Fits the terminal: names are shortened first, then lines."""
    room = columns() - FIGURES
    shown = sockets[:SHOWN]
    process = min(max([8, *(len(one.process) for one in shown)]) + 2, max(10, room // 2))
    name = min(max([8, *(len(one.name) for one in shown)]) + 2, max(11, room - process))
    lines = [f"{'socket':<{name}}{'process':<{process}}{'TCP_NODELAY':<16}{f'holds of {HOLD_MS} ms':>14}{'bytes':>9}"]
    for one in shown:
        names = f"{fitted(one.name, name - 1):<{name}}{fitted(one.process, process - 1):<{process}}"
        option = ("changes" if one.changed else "on" if one.nodelay else "off") + ("" if one.open else ", closed")
        lines.append(f"{names}{option:<16}{one.holds:>14}{one.held_bytes:>9}")
    if len(sockets) > SHOWN:
        lines.append(f"and {len(sockets) - SHOWN} more (-f json has all)")
    return "\n".join(fitted(line, columns()) for line in lines)


def _data(
    watcher: Watcher,
    sockets: list[WatchedSocket],
    faults: list[WatchedSocket],
    status: ExitStatus,
    problem: str | None,
    notes: list[str],
) -> dict[str, object]:
    return {
        "tool": "onewrite watch",
        "version": __version__,
        "schema": 1,
        "exit_status": int(status),
        "problem": problem,
        "pid": watcher.pid,
        "samples": watcher.samples,
        "hold_ms": HOLD_MS,
        "sockets": [
            {
                "name": one.name,
                "process": one.process,
                "direction": one.direction,
                "local_port": one.local_port,
                "peer": one.peer,
                "peer_port": one.peer_port,
                "nodelay": one.nodelay,
                "nodelay_was_off": one.was_off,
                "holds": one.holds,
                "held_bytes": one.held_bytes,
                "found": one in faults,
            }
            for one in sockets
        ],
        "notes": notes,
    }
