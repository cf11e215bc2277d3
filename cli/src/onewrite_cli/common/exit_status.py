"""The exit statuses, the same for every command and every format, and the signals that end a command."""

from __future__ import annotations

import signal
from enum import IntEnum

__all__ = ["ENDING", "CouldNotRun", "ExitStatus"]

#: They end the tool, its command, and all that the command has started.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ExitStatus(IntEnum):
    CLEAN = 0
    FOUND = 1
    INCONCLUSIVE = 2
    COULD_NOT_RUN = 3
    INTERRUPTED = 130


class CouldNotRun(Exception):
    """Nothing was measured. The message has the reason and the remedy in one sentence."""
