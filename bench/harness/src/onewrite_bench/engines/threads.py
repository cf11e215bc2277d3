"""Waiting for threads so that Ctrl-C is heard."""

from __future__ import annotations

import threading
from collections.abc import Iterable

__all__ = ["wait_for"]


def wait_for(threads: Iterable[threading.Thread]) -> None:
    """Return when all of them have ended."""
    for thread in threads:
        # A join without a time limit would keep Ctrl-C waiting on some platforms.
        while thread.is_alive():
            thread.join(0.2)
