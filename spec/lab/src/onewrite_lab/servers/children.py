"""Helper processes of a topology: started, awaited, and always ended.

Each helper ends when its standard input ends. So even when the bench is killed outright, nothing is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Child", "Children", "LabError", "guarded", "installed", "script"]


class LabError(Exception):
    """A program is missing or a server did not start; the message is one line that says what to do."""


def installed(program: str, package: str | None = None) -> str:
    """The path of a program, also where PATH has no sbin. Raises LabError with the Debian package that has it."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")
    if found is None:
        raise LabError(f"{program} is not installed: sudo apt-get install {package or program}")
    return found


def script(path: Path, *arguments: str) -> list[str]:
    """The command line of a Python helper, run by this interpreter."""
    return [sys.executable, str(path), *arguments]


def guarded(*command: str) -> list[str]:
    """A command line that runs the program, and ends it when standard input ends."""
    return script(Path(__file__).with_name("until_eof.py"), *command)


class Child:
    """One helper process. `ready` is the JSON object of its first output line, when it has one."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: dict[str, str], fds: Sequence[int]) -> None:
        self.name = name
        self.log = log
        self.ready: dict[str, object] = {}
        with log.open("wb") as stderr:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=env,
                    pass_fds=tuple(fds),
                    # A Ctrl-C in the terminal goes to the bench alone, which ends its helpers in order.
                    start_new_session=True,
                )
            except OSError as error:
                raise LabError(f"{name} could not be started: {error}") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def await_ready(self, timeout_s: float = 20) -> None:
        """Wait for the first output line. Raises LabError when the helper ends or stays silent."""
        assert self._process.stdout is not None
        line = b""
        deadline = time.monotonic() + timeout_s
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise LabError(f"{self.name} was not ready within {timeout_s:g} s{self.last_words()}")
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                raise LabError(f"{self.name} ended before it was ready{self.last_words()}")
            line += piece
        self.ready = json.loads(line)

    def ended(self) -> bool:
        return self._process.poll() is not None

    def ends_within(self, timeout_s: float) -> bool:
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The end of what it wrote to its log, as a clause for a message."""
        with contextlib.suppress(OSError):
            lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            # HAProxy says why, and in its last line only that it exits.
            telling = [
                line for line in lines if not line.endswith(("Exiting.", "Fatal errors found in configuration."))
            ]
            if lines:
                return f": {(telling or lines)[-1][:300]}"
        return ""

    def stop(self) -> None:
        """Close its input, then terminate, then kill."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        for end in (None, self._process.terminate, self._process.kill):
            if end is not None:
                end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
                break
        if self._process.stdout is not None:
            self._process.stdout.close()


class Children:
    """All helpers of one run; leaving the `with` block ends them, newest first."""

    def __init__(self, log_directory: Path) -> None:
        log_directory.mkdir(parents=True, exist_ok=True)
        self._logs = log_directory
        self._children: list[Child] = []

    def start(
        self,
        name: str,
        command: Sequence[str],
        env: dict[str, str] | None = None,
        fds: Sequence[int] = (),
        wait: bool = True,
    ) -> Child:
        child = Child(name, command, self._logs / f"{name}.log", {**os.environ, **(env or {})}, fds)
        self._children.append(child)
        if wait:
            child.await_ready()
        return child

    def stop_all(self) -> None:
        while self._children:
            self._children.pop().stop()

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()
