"""Ends the processes of a bench that was killed."""

from __future__ import annotations

import shutil
import sys
from functools import cache

__all__ = ["tied"]


@cache
def tied() -> tuple[str, ...]:
    """A prefix for a command line: the kernel kills the program when the thread that started it has ended."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
