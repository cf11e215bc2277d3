"""Runs the command in a fork of a process that has imported it: most of the processor time of a run is Python's start.

The programs that a test starts by itself, the file of `make pyz` and the installed command are started anew.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
from typing import BinaryIO

__all__ = ["run"]

ANSWER = 8  # bytes: a process id or an exit status
GRACE_S = 10.0


def run(arguments: list[str], env: dict[str, str], files: list[BinaryIO], timeout: float) -> int:
    """The exit status; `files` are stdin, stdout and stderr. Raises subprocess.TimeoutExpired."""
    there = _started()
    asked = {"arguments": arguments, "env": env, "folder": os.getcwd()}  # noqa: PTH109
    socket.send_fds(there, [json.dumps(asked).encode() + b"\n"], [file.fileno() for file in files])
    pid = int(there.recv(ANSWER))
    try:
        return _status(there, timeout)
    except BaseException as error:  # also that of a test which has reached its own limit
        for number in (signal.SIGTERM, signal.SIGKILL):  # the first ends its command, too
            os.kill(pid, number)
            with contextlib.suppress(TimeoutError):
                _status(there, GRACE_S)
                break
        if isinstance(error, TimeoutError):
            raise subprocess.TimeoutExpired(arguments, timeout) from None
        raise


def _status(there: socket.socket, timeout: float) -> int:
    """Raises TimeoutError."""
    there.settimeout(timeout)
    try:
        return int(there.recv(ANSWER))
    finally:
        there.settimeout(None)


@functools.cache
def _started() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(there: socket.socket) -> None:
    from onewrite_cli.check import client, listen, server  # noqa: F401
    from onewrite_cli.doctor import stream  # noqa: F401
    from onewrite_cli.watch import command  # noqa: F401

    while True:
        data, files, *_ = socket.recv_fds(there, 1 << 16, 3)
        while data and not data.endswith(b"\n"):
            data += there.recv(1 << 16)
        if not data:
            return
        pid = os.fork()
        if not pid:
            there.close()
            _child(files, **json.loads(data))
        for file in files:
            os.close(file)
        there.sendall(f"{pid:{ANSWER}}".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        there.sendall(f"{status:{ANSWER}}".encode())


def _child(files: list[int], arguments: list[str], env: dict[str, str], folder: str) -> None:
    from onewrite_cli.__main__ import main

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["onewrite", *arguments]
    status = 1
    try:
        status = main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
