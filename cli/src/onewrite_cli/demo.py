"""`onewrite demo`: the stall and its end on this machine, in three seconds and without any set-up."""

from __future__ import annotations

import time
from statistics import median

from onewrite_lab.stall import control_line

from onewrite_cli.common.controls import UNREACHED, control_client
from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.terminal import columns, say, wrapped

__all__ = ["demo"]

BODY = 200
BAR = 44
WAYS = {True: "two writes, Nagle on", False: "one write"}
STALLED = (
    "The kernel of the first client held the body until the server acknowledged the head (Nagle's algorithm). The server "
    "delayed that acknowledgement, as TCP allows. Neither did anything else in that time."
)
NEXT = """
Your client:
  onewrite check -- CMD {url}
Your server:
  onewrite serve -- CMD {port}
A path to it:
  onewrite doctor URL"""


def demo(requests: int) -> ExitStatus:
    """POST in two writes with Nagle on, and in one write, in turn. Raises CouldNotRun."""
    times = _measure(requests)
    *_, problem = control_line(times[True], times[False])
    ms = {split: median(times[split]) / 1e6 for split in WAYS}
    if problem:
        headline = f"INCONCLUSIVE: {problem}"
    else:
        headline = f"STALLS: a request in two writes takes {ms[True]:.1f} ms, in one write {ms[False]:.1f} ms"
    sent = f"POST of {BODY} bytes to a server on this machine, {requests} times in each way, on a kept-alive connection"
    lines = [*wrapped(headline), *wrapped(sent), ""]
    bar, name = min(BAR, columns() - 36), min(22, columns() - 11)
    for split, way in WAYS.items():
        drawn = "█" * round(bar * ms[split] / max(ms.values())) if bar > 0 else ""
        lines.append(f"{way[: name - 1]:<{name}}{ms[split]:>8.1f} ms  {drawn}".rstrip())
    say("\n".join([*lines, "", *(() if problem else (*wrapped(STALLED), NEXT))]))
    return ExitStatus.INCONCLUSIVE if problem else ExitStatus.CLEAN


def _measure(requests: int) -> dict[bool, list[int]]:
    origin = Origin("http")
    times: dict[bool, list[int]] = {split: [] for split in WAYS}
    try:
        clients = {split: control_client(origin.url, split=split)[0] for split in WAYS}
        for _ in range(requests):
            for split, client in clients.items():
                begun = time.monotonic_ns()
                client.post("POST", b"x" * BODY)
                times[split].append(time.monotonic_ns() - begun)
        for client in clients.values():
            client.close()
    except OSError as error:
        raise CouldNotRun(f"{UNREACHED}: {error}") from error
    finally:
        origin.close()
    return times
