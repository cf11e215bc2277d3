"""The exit statuses, the same for every command and every format."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CouldNotRun", "ExitStatus"]


class ExitStatus(IntEnum):
    CLEAN = 0
    FOUND = 1
    INCONCLUSIVE = 2
    COULD_NOT_RUN = 3
    INTERRUPTED = 130


class CouldNotRun(Exception):
    """Nothing was measured. The message has the reason and the remedy in one sentence."""
