"""Runs a command in a new process group, follows its daemons, and ends whatever is left of both.

A daemon leaves its group and its parent; this process adopts it (PR_SET_CHILD_SUBREAPER, prctl(2)).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.witness import process_tree

from onewrite_cli.common.exit_status import ENDING, CouldNotRun

__all__ = ["Background", "Ran", "background", "name_of", "run_command"]

SHOWN_LINES = (5, 10)  # the first and the last
KEPT_BYTES = 65536  # of the beginning, and of the end
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 2.0
POLL_S = 0.05


def name_of(pid: int) -> str:
    """The short name of a process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "a process"


@dataclass
class Ran:
    """`status` is None when the time ran out, and 0 when the command had done enough and was ended.

    `output` is the end of what the command printed.
    """

    status: int | None
    output: str


def run_command(
    arguments: list[str],
    environment: dict[str, str],
    *,
    timeout_s: float,
    show: bool,
    started: Callable[[Callable[[], list[int]]], None],
    enough: Callable[[], bool] | None = None,
) -> Ran:
    """Run it, until `enough` says True; with `show` its output goes to stderr as it comes.

    Raises CouldNotRun when it cannot be started.
    """
    with background(arguments, environment, show=show) as child:
        started(child.roots)
        status = _wait(child, timeout_s, enough)
        _end(child)
        return Ran(status, child.printed())


@functools.cache
def _become_subreaper() -> None:
    """Whatever the commands leave behind becomes a child of this process. Linux alone has that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> list[int]:
    """Those that the main thread of this process started or adopted; none where the kernel does not list them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


class Background(subprocess.Popen[bytes]):
    """A command that runs."""

    others: frozenset[int] = frozenset()  # children of this process that are older
    _first = _last = b""
    _kept: threading.Thread | None = None

    def keep_output(self) -> None:
        """Read what it prints, from a pipe, and keep the beginning and the end of that."""
        self._kept = threading.Thread(target=self._read, daemon=True)
        self._kept.start()

    def _read(self) -> None:
        assert self.stdout is not None
        with self.stdout as printed:
            while data := os.read(printed.fileno(), KEPT_BYTES):
                room = KEPT_BYTES - len(self._first)
                self._first += data[:room]
                self._last = (self._last + data[room:])[-KEPT_BYTES:]

    def printed(self) -> str:
        """The beginning and the end of what it printed."""
        if self._kept is not None:
            self._kept.join(POLL_S)
        lines = (self._first + self._last).decode(errors="replace").splitlines()
        first, last = SHOWN_LINES
        return "\n".join(lines if len(lines) <= first + last else [*lines[:first], "…", *lines[-last:]])

    def roots(self) -> list[int]:
        """The command, and each daemon of it that this process has adopted."""
        return [self.pid, *(pid for pid in _children() if pid != self.pid and pid not in self.others)]

    def ended(self) -> int | None:
        """Its status, once no daemon of it runs any more; None before."""
        status = self.poll()
        for pid in self.roots()[1:]:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    return None
        return status


@contextlib.contextmanager
def background(arguments: list[str], environment: dict[str, str], *, show: bool) -> Iterator[Background]:
    """Start it, and end it with the block. Raises CouldNotRun when it cannot be started."""
    _become_subreaper()
    others = frozenset(_children())
    with _interrupts_later() as interrupted:
        try:
            child = Background(
                arguments,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if show else subprocess.PIPE,
                stderr=sys.stderr.fileno() if show else subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise CouldNotRun(f"{arguments[0]} could not be started: {error.strerror}") from error
        child.others = others
    if not show:
        child.keep_output()
    try:
        if interrupted:
            raise KeyboardInterrupt
        yield child
    finally:
        _end(child)


@contextlib.contextmanager
def _interrupts_later() -> Iterator[list[int]]:
    """Note the signals instead of raising: within Popen an exception would lose a process that runs already."""
    noted: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in before:
        signal.signal(number, lambda number, _frame: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(child: Background, timeout_s: float, enough: Callable[[], bool] | None) -> int | None:
    """The status of the command; with `enough`, which a daemon may bring, that of the last of them to end."""
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(min(left, POLL_S))
        ended = child.ended()
        status = ended if enough else child.returncode
        if status is not None:
            return status
        if enough and enough():
            return 0
        if child.returncode is not None:
            time.sleep(min(left, POLL_S))
    return None


def _end(child: Background) -> None:
    """End the process group, of which the leader may have ended already, and its daemons: SIGTERM first, then SIGKILL."""
    _signal(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        if child.ended() is not None and not _signal(child, 0):
            return
        time.sleep(0.005)
    _signal(child, signal.SIGKILL)
    child.wait(GRACE_S)
    child.ended()


def _signal(child: Background, number: int) -> bool:
    """False when no process of the group is left, and no daemon."""
    left = True
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):  # another user's, as of sudo
        left = False
    for daemon in child.roots()[1:]:
        for pid in process_tree(daemon):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                left = True
    return left
