"""Progress on standard error: one line that changes on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time

__all__ = ["Console"]

_PLAIN_EVERY_S = 5.0


class Console:
    """Counts the steps of all groups together. Thread-safe; writes nothing when `quiet`."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._lock = threading.Lock()
        self._total = self._done = 0
        self._shown_at = 0.0

    def plan(self, steps: int) -> None:
        """Announce `steps` more steps."""
        with self._lock:
            self._total += steps

    def step(self, text: str) -> None:
        """Count a step and show the share of steps that are done."""
        with self._lock:
            self._done += 1
            now = time.monotonic()
            if now - self._shown_at >= (0.1 if self._terminal else _PLAIN_EVERY_S):
                self._shown_at = now
                percent = min(100, round(100 * self._done / self._total)) if self._total else 0
                width = shutil.get_terminal_size().columns - 1 if self._terminal else None
                self._write(f"{percent:3d} %  {text}"[:width], end="" if self._terminal else "\n")

    def line(self, text: str) -> None:
        """Write a line that stays."""
        with self._lock:
            self._write(text)

    def finish(self) -> None:
        """Remove the line that changes, and begin to count anew."""
        with self._lock:
            self._total = self._done = 0
            if self._terminal:
                self._write("", end="")

    def _write(self, text: str, end: str = "\n") -> None:
        if not self._quiet:
            erase = "\r\x1b[K" if self._terminal else ""
            print(erase + text, end=end, file=sys.stderr, flush=True)
