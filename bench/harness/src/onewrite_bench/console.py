"""Progress on standard error: one moving line on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time

__all__ = ["Console"]

_PLAIN_EVERY_S = 5.0


class Console:
    """Counts steps of all groups together. Thread-safe; writes nothing when `quiet`."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._lock = threading.Lock()
        self._total = 0
        self._done = 0
        self._shown_at = 0.0
        self._line_open = False

    def plan(self, steps: int) -> None:
        """Announce `steps` more steps."""
        with self._lock:
            self._total += steps

    def step(self, text: str, steps: int = 1) -> None:
        """`steps` more are done; `text` says what is going on."""
        with self._lock:
            self._done += steps
            self._show(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            if self._quiet:
                return
            self._erase()
            print(text, file=sys.stderr, flush=True)

    def finish(self) -> None:
        with self._lock:
            self._erase()
            self._total = self._done = 0

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._quiet or now - self._shown_at < (0.1 if self._terminal else _PLAIN_EVERY_S):
            return
        self._shown_at = now
        percent = min(100, round(100 * self._done / self._total)) if self._total else 0
        if self._terminal:
            width = shutil.get_terminal_size().columns
            filled = percent // 5
            line = f"[{'#' * filled}{'.' * (20 - filled)}] {percent:3d} %  {text}"
            print("\r\x1b[K" + line[: width - 1], end="", file=sys.stderr, flush=True)
            self._line_open = True
        else:
            print(f"{percent:3d} %  {text}", file=sys.stderr, flush=True)

    def _erase(self) -> None:
        if self._line_open:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._line_open = False
