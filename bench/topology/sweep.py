"""Removes a folder when standard input ends: when the bench is done with it, or was killed.

usage: sweep.py DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

RETRIES, PAUSE_S = 10, 0.1


def main() -> None:
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    # Helpers that end at the same time may still write their last lines into it.
    for _ in range(RETRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
