"""One line of progress on a terminal's stderr; nothing at all in a pipe or a CI log."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from onewrite_cli.width import columns, fitted

__all__ = ["Progress"]

ERASE = "\r\x1b[K"


class Progress:
    """`with Progress("text") as progress: progress.say("text")`."""

    def __init__(self, text: str) -> None:
        self._shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._text = text

    def say(self, text: str) -> None:
        if self._shown:
            print(f"{ERASE}{fitted(text, columns() - 1)}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        self.say(self._text)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            print(ERASE, end="", file=sys.stderr, flush=True)
