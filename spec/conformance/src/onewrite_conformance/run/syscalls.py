"""The second witness: strace sees which system calls a POST is made of, and that TCP_NODELAY is set.

It slows a process down tenfold, so it covers one small case per client kind.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from onewrite_lab.tap.server import Tap

from onewrite_conformance.checks.strace import BODY, PATH, REQUESTS, TRACED, read_calls
from onewrite_conformance.driver import Driver, DriverFault
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.result import Result, Status

__all__ = ["SYSCALL_CASE", "syscall_result"]

SYSCALL_CASE = "witness-syscalls"


def syscall_result(adapter: Adapter, kind: str) -> Result:
    """The result of strace over one client kind."""
    started = time.monotonic()
    path = f"{SYSCALL_CASE}/{kind}/http/direct"
    result = Result(adapter.name, path, SYSCALL_CASE, kind, "http", "direct", "", "MUST", Status.OK)
    result.title = "By strace's account a POST is one system call"
    if shutil.which("strace") is None:
        result.status, result.notes = Status.CANNOT_TELL, ["strace is not installed"]
    else:
        try:
            result.problems = list(read_calls(_traced(adapter, kind)))
            if result.problems:
                result.status = Status.DEVIATES
        except DriverFault as fault:
            result.status, result.notes = Status.CANNOT_TELL, [f"under strace: {fault}"]
    result.seconds = round(time.monotonic() - started, 3)
    return result


def _traced(adapter: Adapter, kind: str) -> list[str]:
    """The lines of strace while the client made its POSTs."""
    with tempfile.TemporaryDirectory(prefix="onewrite-strace-") as folder:
        log = Path(folder) / "calls"
        strace = ["strace", "-f", "--seccomp-bpf", "-s", "48", "-e", f"trace={TRACED}", "-o", str(log)]
        known_as, env = adapter.driver_of(kind)
        with Driver([*strace, *adapter.command], known_as, env=env, timeout_s=60.0) as driver, Tap() as tap:
            client = driver.open()
            for _ in range(REQUESTS):
                body = {"kind": "bytes", "size": BODY}
                driver.request(client, "POST", tap.base + PATH, body=body)
            driver.close(client)
        return log.read_text(errors="replace").splitlines()
