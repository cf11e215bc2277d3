"""CPU time of another process, from the kernel's own account."""

from __future__ import annotations

import sys
import time

from onewrite_lab import witness

__all__ = ["cpu_ns"]

_CPUCLOCK_SCHED = 2


def cpu_ns(pid: int) -> int | None:
    """Nanoseconds that `pid` and its children were on a CPU so far, threads that have ended included; None elsewhere.

    The clock of another process has the number that clock_getcpuclockid(3) makes: its precision is nanoseconds, where
    /proc/PID/stat counts in ticks of 10 ms.
    """
    if sys.platform != "linux":
        return None
    total = 0
    for process in witness.process_tree(pid):
        try:
            total += time.clock_gettime_ns((~process << 3) | _CPUCLOCK_SCHED)
        except OSError:
            continue
    return total or None
