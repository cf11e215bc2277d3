"""`onewrite demo`: the stall and its end on this machine, in three seconds and without any set-up."""

from __future__ import annotations

from statistics import median

from onewrite_lab.stall import control_line

from onewrite_cli.common.controls import run_controls
from onewrite_cli.common.exit_status import ExitStatus
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.terminal import columns, say, wrapped

__all__ = ["demo"]

BODY = 200
BAR = 44
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
    origin = Origin("http")
    try:
        (_, split_ns), (_, single_ns) = run_controls(origin.url, body=BODY, times=requests)
    finally:
        origin.close()
    *_, problem = control_line(split_ns, single_ns)
    split_ms, single_ms = median(split_ns) / 1e6, median(single_ns) / 1e6
    headline = f"STALLS: a request in two writes takes {split_ms:.1f} ms, in one write {single_ms:.1f} ms"
    lines = wrapped(f"INCONCLUSIVE: {problem}" if problem else headline)
    sent = f"POST of {BODY} bytes to a server on this machine, {requests} times in each way, on a kept-alive connection"
    lines += [*wrapped(sent), ""]
    bar, name = min(BAR, columns() - 36), min(22, columns() - 11)
    for way, took_ms in (("two writes, Nagle on", split_ms), ("one write", single_ms)):
        drawn = "█" * round(bar * took_ms / max(split_ms, single_ms)) if bar > 0 else ""
        lines.append(f"{way[: name - 1]:<{name}}{took_ms:>8.1f} ms  {drawn}".rstrip())
    say("\n".join([*lines, "", *(() if problem else (*wrapped(STALLED), NEXT))]))
    return ExitStatus.INCONCLUSIVE if problem else ExitStatus.CLEAN
