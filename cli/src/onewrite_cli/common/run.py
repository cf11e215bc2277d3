"""Runs a command in a new process group, and ends whatever is left of it.

A guard process kills the group and removes the folder even when this process is killed: it reads a pipe that the kernel
closes then.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from onewrite_cli.common.exit_status import CouldNotRun

__all__ = ["ENDING", "Background", "Ran", "background", "name_of", "run_command", "scratch"]

#: The signals that end a command, and all that it has started.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOWN_LINES = 15
LAST_BYTES = 65536
GRACE_S = 2.0
POLL_S = 0.05

GUARD = """
import os, shutil, signal, sys
held = set()
for line in sys.stdin:
    (held.add if line[0] == "+" else held.discard)(line[1:-1])
for one in sorted(held):
    kind, value = one.split(" ", 1)
    try:
        os.killpg(int(value), signal.SIGKILL) if kind == "group" else shutil.rmtree(value, ignore_errors=True)
    except OSError:
        pass
"""


@functools.cache
def _guard() -> subprocess.Popen[bytes] | None:
    """Started with the first thing to guard; ends with this process, however that ends."""
    command, null = [sys.executable, "-I", "-S", "-c", GUARD], subprocess.DEVNULL
    try:
        guard = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True, bufsize=0
        )
    except OSError:  # such as an interpreter that only its parent may start
        return None
    atexit.register(guard.communicate)
    return guard


def _tell_guard(line: str) -> None:
    """`+` begins to guard a `group` or `folder`, `-` ends it."""
    guard = _guard()
    if guard is not None and guard.stdin is not None:
        with contextlib.suppress(OSError):
            guard.stdin.write(f"{line}\n".encode())


def name_of(pid: int) -> str:
    """The short name of a process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "a process"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that goes with the block, or with this process."""
    folder = tempfile.mkdtemp(prefix="onewrite-")
    try:
        _tell_guard(f"+folder {folder}")
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _tell_guard(f"-folder {folder}")


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
    started: Callable[[int], None],
    enough: Callable[[], bool] | None = None,
) -> Ran:
    """Run it, until `enough` says True; with `show` its output goes to stderr as it comes.

    Raises CouldNotRun when it cannot be started.
    """
    with background(arguments, environment, show=show) as child:
        started(child.pid)
        status = _wait(child, timeout_s, enough)
        _end(child)
        return Ran(status, child.said())


class Background(subprocess.Popen[bytes]):
    """A command that runs. `kept` is the file that has its output."""

    kept: IO[bytes] | None = None

    def said(self) -> str:
        """The end of what it printed."""
        if self.kept is None:
            return ""
        descriptor = self.kept.fileno()
        size = os.lseek(descriptor, 0, os.SEEK_END)
        text = os.pread(descriptor, LAST_BYTES, max(0, size - LAST_BYTES)).decode(errors="replace")
        return "\n".join(text.splitlines()[-SHOWN_LINES:])


@contextlib.contextmanager
def background(arguments: list[str], environment: dict[str, str], *, show: bool) -> Iterator[Background]:
    """Start it, and end it with the block. Raises CouldNotRun when it cannot be started."""
    _guard()  # before there is a group to lose
    with tempfile.TemporaryFile() as kept:
        output = sys.stderr.fileno() if show else kept.fileno()
        with _interrupts_later() as interrupted:
            try:
                child = Background(
                    arguments,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise CouldNotRun(f"{arguments[0]} could not be started: {error.strerror}") from error
            _tell_guard(f"+group {child.pid}")
        child.kept = None if show else kept
        try:
            if interrupted:
                raise KeyboardInterrupt
            yield child
        finally:
            _end(child)
            _tell_guard(f"-group {child.pid}")


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


def _wait(child: subprocess.Popen[bytes], timeout_s: float, enough: Callable[[], bool] | None) -> int | None:
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        try:
            return child.wait(min(left, POLL_S) if enough else left)
        except subprocess.TimeoutExpired:
            if enough and enough():
                return 0
    return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the process group, of which the leader may have ended already: SIGTERM first, then SIGKILL."""
    _signal(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        if child.poll() is not None and not _signal(child, 0):
            return
        time.sleep(0.005)
    _signal(child, signal.SIGKILL)
    child.wait(GRACE_S)


def _signal(child: subprocess.Popen[bytes], number: int) -> bool:
    """False when no process of the group is left."""
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):  # another user's, as of sudo
        return False
    return True
