"""`onewrite watch`: samples until the process ends, the time is over, or the user has seen enough."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from onewrite_lab.witness import AVAILABLE, WitnessError

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.report import as_json, header
from onewrite_cli.common.run import background
from onewrite_cli.common.sockets import COSTS_TIME, IN_WORDS
from onewrite_cli.common.terminal import counted, print_out, table, wrapped
from onewrite_cli.watch.sockets import HOLD_MS, WatchedSocket, Watcher

__all__ = ["WatchOptions", "as_table", "watch"]

SAMPLE_S = 0.01
SHOW_S = 0.5
SHOWN = 40
IN_JSON = (
    "name", "process", "direction", "local_port", "peer", "peer_port", "nodelay", "holds", "causes", "longest_ms", "held_bytes",
)  # fmt: skip
CLEAR = "\x1b[H\x1b[J"
CURES = {
    "nagle_delayed_ack": "set TCP_NODELAY on these sockets, or hand each message to the socket in one write",
    "cork": "no MSG_MORE or TCP_CORK without a flush behind the last piece of a message",
}


@dataclass
class WatchOptions:
    """The options of the command line: a pid, or a command."""

    command: list[str]
    pid: int | None = None
    seconds: int | None = None
    format: str = "text"


def watch(options: WatchOptions) -> ExitStatus:
    """Raises CouldNotRun."""
    if (options.pid is None) is (not options.command):
        raise CouldNotRun("say --pid N, or a command after two dashes: onewrite watch -- CMD")
    if not AVAILABLE:
        raise CouldNotRun("reading another process's sockets needs Linux")
    if options.pid is not None:
        only = options.pid
        watcher = Watcher(lambda: [only])
        _sample(watcher, options, lambda: None)
        return _report(watcher, options, None)
    with background(options.command, dict(os.environ), show=True) as child:
        watcher = Watcher(child.roots)
        _sample(watcher, options, child.ended)
        ended = child.ended()
    return _report(watcher, options, ended)


def _sample(watcher: Watcher, options: WatchOptions, status: Callable[[], int | None]) -> None:
    """Until the end, which an interrupt is, too. Raises CouldNotRun when nothing may be read."""
    live = options.format == "text" and sys.stdout.isatty()
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    shown = 0.0
    with _interruptible() as interrupted:
        while not interrupted and (now := time.monotonic()) < deadline:
            if status() is not None:
                return
            try:
                watcher.sample()
            except ProcessLookupError:
                if not watcher.samples and options.pid:
                    raise CouldNotRun(f"there is no process {watcher.pid}") from None
                return
            except (WitnessError, OSError) as error:
                raise CouldNotRun(str(error)) from error
            if live and now - shown >= SHOW_S:
                shown = now
                print_out(f"{CLEAR}{as_table(_sorted(watcher))}\n\nCtrl-C ends this")
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


def _sorted(watcher: Watcher) -> list[WatchedSocket]:
    return sorted(watcher.sockets, key=lambda one: (-one.own_holds, -one.holds, one.nodelay, one.name))


def _report(watcher: Watcher, options: WatchOptions, ended: int | None) -> ExitStatus:
    sockets, faults = _sorted(watcher), watcher.found()
    problem = None
    if ended:
        problem = f"the command ended with status {ended}"
    elif not sockets:
        problem = "no TCP connection was seen"
    elif not any(one.busy for one in sockets):
        problem = "no socket sent anything while it was watched"
    if faults:
        status, names = ExitStatus.FOUND, ", ".join(dict.fromkeys(one.name for one in faults))
        causes = " and ".join(IN_WORDS[cause] for cause in COSTS_TIME if any(cause in one.causes for one in faults))
        longest_ms = max(one.longest_ms.get(cause, 0) for one in faults for cause in COSTS_TIME)
        which = f"{len(faults)} of {counted(len(sockets), 'socket')}"
        headline = f"STALLS: {which} held bytes by {causes}, for {longest_ms} ms at most: {names}"
    elif problem:
        status, headline = ExitStatus.INCONCLUSIVE, f"INCONCLUSIVE: {problem}"
    else:
        off = sum(not one.nodelay for one in sockets)
        status = ExitStatus.CLEAN
        once = "one held bytes once, which may be chance"
        none = once if any(one.own_holds for one in sockets) else f"none held bytes by its own option for {HOLD_MS} ms"
        headline = f"CLEAN: {counted(len(sockets), 'socket')}, {off} with Nagle on, and {none}"
    if options.format == "json":
        print_out(as_json(_data(watcher, status, headline, problem)))
        return status
    lines = [*wrapped(headline), *wrapped(f"{watcher.samples} samples of process {watcher.pid} and its children")]
    lines += [as_table(sockets)] if sockets else []
    cures = [CURES[cause] for cause in COSTS_TIME if any(cause in one.causes for one in faults)]
    lines += [line for cure in cures for line in wrapped(f"cure: {cure}", "", "  ")]
    print_out("\n".join(lines))
    return status


def as_table(sockets: list[WatchedSocket]) -> str:
    """Fits the terminal: columns are left out first, then names are shortened."""
    rows = [["socket", "process", "NODELAY", "", "held longest", "holds", "bytes"]]
    for one in sockets[:SHOWN]:
        option = "on" if one.nodelay else "off"
        cause = next((f"{cause} {one.longest_ms[cause]} ms" for cause, _ in one.causes.most_common(1)), "-")
        held = [cause, str(one.holds), str(one.held_bytes or "-")]
        rows.append([one.name, one.process, option, "" if one.open else "closed", *held])
    lines = table(rows, "<<<<<>>", (6, 3, 1, 4))
    if len(sockets) > SHOWN:
        lines += wrapped(f"and {len(sockets) - SHOWN} more (-f json has all)")
    return "\n".join(lines)


def _data(watcher: Watcher, status: ExitStatus, headline: str, problem: str | None) -> dict[str, Any]:
    sockets, faults = _sorted(watcher), watcher.found()
    return {
        **header("onewrite watch", status),
        "headline": headline,
        "problem": problem,
        "pid": watcher.pid,
        "samples": watcher.samples,
        "hold_ms": HOLD_MS,
        "sockets": [
            {"found": any(one is fault for fault in faults), **{field: getattr(one, field) for field in IN_JSON}}
            for one in sockets
        ],
    }
