"""The bench's command, run as users do: in another process."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["BENCH", "bench"]

BENCH = [sys.executable, "-m", "onewrite_bench"]


def bench(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BENCH, *arguments], env={**os.environ, **env}, capture_output=True, text=True, timeout=180, check=False
    )
