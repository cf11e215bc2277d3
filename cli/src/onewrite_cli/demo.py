"""`onewrite demo`: the stall and its end on this machine, in three seconds and without any set-up."""

from __future__ import annotations

import json
import time
from statistics import median

from onewrite_lab.stall import control_line

from onewrite_cli import __version__
from onewrite_cli.check.controls import ControlClient
from onewrite_cli.check.origin import Origin
from onewrite_cli.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.width import columns

__all__ = ["demo"]

BODY = 200
WIDTH = 44


def demo(requests: int, form: str) -> ExitStatus:
    """POST in two writes with Nagle on, and in one write, in turn. Raises CouldNotRun."""
    split_ns, single_ns = _measure(requests)
    *_, problem = control_line(split_ns, single_ns)
    status = ExitStatus.INCONCLUSIVE if problem else ExitStatus.CLEAN
    split_ms, single_ms = (round(median(times) / 1e6, 2) for times in (split_ns, single_ns))
    if form == "json":
        data = {
            "tool": "onewrite demo",
            "version": __version__,
            "schema": 1,
            "exit_status": int(status),
            "problem": problem,
            "requests": requests,
            "body_bytes": BODY,
            "two_writes_ms": split_ms,
            "one_write_ms": single_ms,
        }
        print(json.dumps(data, indent=2))
        return status
    print(f"POST of {BODY} bytes to a server on this machine, {requests} times in each way, on a kept-alive connection\n")
    widest = min(WIDTH, columns() - 36)
    longest = max(split_ms, single_ms)
    for name, took_ms in (("two writes, Nagle on", split_ms), ("one write", single_ms)):
        print(f"{name:<22}{took_ms:>8.1f} ms  {'█' * round(widest * took_ms / longest)}")
    print(f"\n{f'inconclusive: {problem}' if problem else STALLED}")
    return status


STALLED = """\
The kernel of the first client held the body until the server acknowledged the head (Nagle's algorithm). The server
delayed that acknowledgement, as TCP allows. Neither did anything else in that time.

Your own client:   onewrite check -- CMD {url}
Your own server:   onewrite check --serve -- CMD {port}
A path to it:      onewrite doctor URL"""


def _measure(requests: int) -> tuple[list[int], list[int]]:
    origin = Origin("http", lambda arrival, again: None)
    times: dict[bool, list[int]] = {True: [], False: []}
    clients: dict[bool, ControlClient] = {}
    try:
        for split in times:
            clients[split] = ControlClient(origin.url, split=split, body=BODY, ca_file=None)
        for _ in range(requests):
            for split, client in clients.items():
                begun = time.monotonic_ns()
                client.request()
                times[split].append(time.monotonic_ns() - begun)
    except OSError as error:
        raise CouldNotRun(f"the tool's own client could not reach the tool's own server: {error}") from error
    finally:
        for client in clients.values():
            client.close()
        origin.close()
    return times[True], times[False]
