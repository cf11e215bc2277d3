"""Runs the command once, in a new session, and ends whatever is left of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from onewrite_cli.exit_status import ENDING, CouldNotRun

__all__ = ["Background", "Ran", "background", "run_command"]

SHOWN_LINES = 15
LOOKED_AT = 65536
GRACE_S = 2.0
POLL_S = 0.05


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
        return _end_of(self.kept.fileno()) if self.kept else ""


@contextlib.contextmanager
def background(arguments: list[str], environment: dict[str, str], *, show: bool) -> Iterator[Background]:
    """Start it, and end it with the block. Raises CouldNotRun when it cannot be started."""
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
        child.kept = None if show else kept
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
    """End the process group: SIGTERM first, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue
        return


def _end_of(descriptor: int) -> str:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    os.lseek(descriptor, max(0, size - LOOKED_AT), os.SEEK_SET)
    text = os.read(descriptor, LOOKED_AT).decode(errors="replace")
    return "\n".join(text.splitlines()[-SHOWN_LINES:])
