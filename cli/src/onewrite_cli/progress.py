"""One line of progress on a terminal's stderr; nothing at all in a pipe or a CI log."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.status import Status

__all__ = ["Progress"]


class Progress:
    """`with Progress("text") as progress: progress.say("text")`."""

    def __init__(self, text: str) -> None:
        console = Console(stderr=True)
        self._status: Status | None = None
        if sys.stderr.isatty() and console.is_terminal and not console.is_dumb_terminal:
            self._status = console.status(text)

    def say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()
