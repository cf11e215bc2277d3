"""Checks the system calls that strace saw a client make.

They follow the same rules as the tap's counts: one write per request (WIRE-1), no write of the body alone,
TCP_NODELAY on (TCP-1), TCP_QUICKACK untouched (TCP-12), TCP_INFO not read without a hook (TIME-24).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["BODY", "PATH", "REQUESTS", "TRACED", "read_calls"]

WRITES = "write,writev,sendto,sendmsg,sendmmsg,pwritev,pwritev2"
TRACED = f"setsockopt,getsockopt,{WRITES}"
CALL = re.compile(r"\b(write|writev|sendto|sendmsg|sendmmsg|setsockopt|getsockopt)\((.*)")
REQUESTS = 20
BODY = 200
PATH = "/seen-by-strace"


def read_calls(lines: list[str]) -> Iterator[str]:
    """The faults of these system calls."""
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
