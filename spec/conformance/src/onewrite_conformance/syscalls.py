"""The second witness: strace sees which system calls a POST is made of, and that TCP_NODELAY is set.

It slows a process down tenfold, so it looks at one small case per client kind. What it sees is compared with the
same rules as the tap's: one write per request (WIRE-1), no write of the body alone, TCP_NODELAY on (TCP-1),
TCP_QUICKACK untouched (TCP-12), TCP_INFO not asked for without a hook (TIME-24).
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from onewrite_conformance.adapters import Adapter
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_conformance.results import Result, Status
from onewrite_conformance.tap import Tap

__all__ = ["SYSCALL_CASE", "read_calls", "syscall_result"]

SYSCALL_CASE = "witness-syscalls"

WRITES = "write,writev,sendto,sendmsg,sendmmsg,pwritev,pwritev2"
CALL = re.compile(r"\b(write|writev|sendto|sendmsg|sendmmsg|setsockopt|getsockopt)\((.*)")
REQUESTS = 20
BODY = 200
PATH = "/seen-by-strace"


def syscall_result(adapter: Adapter, kind: str) -> Result:
    """What strace says of one client kind."""
    started = time.monotonic()
    path = f"{SYSCALL_CASE}/{kind}/http/direct"
    result = Result(adapter.name, path, SYSCALL_CASE, kind, "http", "direct", [], "MUST", Status.OK)
    result.title = "By strace's account a POST is one system call"
    if shutil.which("strace") is None:
        result.status, result.notes = Status.CANNOT_TELL, ["strace is not installed"]
    else:
        try:
            result.problems = list(read_calls(_traced(adapter, kind)))
            if result.problems:
                result.status = Status.DEVIATES
        except DriverSkipped as skipped:
            result.status, result.notes = Status.NOT_APPLICABLE, [str(skipped)]
        except DriverFault as fault:
            result.status, result.notes = Status.CANNOT_TELL, [f"under strace: {fault}"]
    result.seconds = round(time.monotonic() - started, 3)
    return result


def _traced(adapter: Adapter, kind: str) -> list[str]:
    """What strace wrote while the client made its POSTs."""
    with tempfile.TemporaryDirectory(prefix="onewrite-strace-") as folder:
        log = Path(folder) / "calls"
        strace = ["strace", "-f", "-s", "48", "-e", f"trace=setsockopt,getsockopt,{WRITES}", "-o", str(log)]
        known_as, env = adapter.driver_of(kind)
        with Driver([*strace, *adapter.command], known_as, env=env, timeout_s=60.0) as driver, Tap() as tap:
            client = driver.open()
            for _ in range(REQUESTS):
                body = {"kind": "bytes", "size": BODY}
                driver.request(client, "POST", tap.base + PATH, body=body)
            driver.close(client)
        return log.read_text(errors="replace").splitlines()


def read_calls(lines: list[str]) -> Iterator[str]:
    """What is wrong with these system calls."""
    heads = alone = bodies = 0
    nodelay = quickack = info = False
    for line in lines:
        call = CALL.search(line)
        if call is None:
            continue
        name, rest = call.groups()
        if name == "setsockopt":
            nodelay = nodelay or bool(re.search(r"TCP_NODELAY, \[1\]", rest))
            quickack = quickack or "TCP_QUICKACK" in rest
            continue
        if name == "getsockopt":
            # A driver may well try its hooks before the first request that counts.
            info = info or ("TCP_INFO" in rest and heads > 0)
            continue
        buffers = re.findall(r'"((?:[^"\\]|\\.)*)"', rest)
        if buffers and buffers[0].startswith(f"POST {PATH}"):
            heads += 1
            size = re.search(r"\) += (\d+)$", line)
            # A call that strace saw end elsewhere (unfinished, resumed) has its size on another line.
            if size is not None and len(buffers) == 1 and int(size.group(1)) <= BODY:
                alone += 1
        elif buffers and re.match(r"x{20}", buffers[0]):
            bodies += 1
    if heads != REQUESTS:
        yield f"{heads} writes began a request, {REQUESTS} requests were made"
    if bodies or alone:
        yield f"{bodies} writes carried a body alone, {alone} a head alone"
    if not nodelay:
        yield "TCP_NODELAY was never set"
    if quickack:
        yield "TCP_QUICKACK was set unasked"
    if info:
        yield "TCP_INFO was read, though nothing listens"
