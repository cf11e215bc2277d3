"""How long a server of the bench serves: until a signal, or until the bench that started it has gone."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading


def serve_until_told() -> None:
    """Wait for a signal or, where standard input is a pipe, for its other end to be closed.

    The bench starts its servers with a pipe, so that none outlives it. A server started by hand with another input
    (a terminal, /dev/null) is ended by a signal alone.
    """
    with contextlib.suppress(KeyboardInterrupt):
        if sys.stdin is None or not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            threading.Event().wait()
        sys.stdin.buffer.read()
        print(f"{sys.argv[0]}: standard input was closed, ending", file=sys.stderr, flush=True)
