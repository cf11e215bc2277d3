"""Runs a command until standard input ends, so that nothing is left behind even when the bench is killed.

usage: until_eof.py COMMAND [ARGUMENT…]
The command gets /dev/null as its input. Exit status: the command's own when it ends first, else 0.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    # Inherited listening sockets go on to the command (close_fds=False): HAProxy binds to them as fd@N.
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, close_fds=False, start_new_session=True)

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)  # what the command has started goes with it

    def wait_for_eof() -> None:
        while os.read(0, 4096):
            pass
        end()
        try:
            child.wait(1)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=wait_for_eof, daemon=True).start()
    status = child.wait()
    return 0 if status in (0, -signal.SIGTERM, -signal.SIGKILL) else status


if __name__ == "__main__":
    sys.exit(main())
