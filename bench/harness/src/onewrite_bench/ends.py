"""Ends the processes and removes the folders of a bench that was killed."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from onewrite_bench.paths import TOPOLOGY

__all__ = ["scratch", "tied"]


@cache
def tied() -> tuple[str, ...]:
    """A prefix for a command line: the kernel kills the program when the thread that started it has ended."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


@contextlib.contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A temporary folder. When the bench is killed, a helper process removes it."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        with subprocess.Popen(
            [sys.executable, "-S", str(TOPOLOGY / "sweep.py"), name], stdin=subprocess.PIPE, start_new_session=True
        ) as sweeper:
            try:
                yield Path(name)
            finally:
                if sweeper.stdin is not None:
                    sweeper.stdin.close()
