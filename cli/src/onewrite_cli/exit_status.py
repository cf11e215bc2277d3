"""The exit statuses, the same for every command and every format."""

from __future__ import annotations

import signal
from enum import IntEnum

__all__ = ["ENDING", "CouldNotRun", "ExitStatus"]

#: The signals that end a command, and all that it has started.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ExitStatus(IntEnum):
    CLEAN = 0
    FOUND = 1
    INCONCLUSIVE = 2
    COULD_NOT_RUN = 3
    INTERRUPTED = 130


class CouldNotRun(Exception):
    """Nothing was measured; the message is one sentence that says why, and what helps."""
