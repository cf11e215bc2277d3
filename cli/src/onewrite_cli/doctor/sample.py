"""Sends one request and watches the kernel's send queue until the answer begins."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass

from onewrite_lab.witness.tcpinfo import read as read_tcp_info

from onewrite_cli.doctor import kernel
from onewrite_cli.doctor.connection import Connection
from onewrite_cli.doctor.request import DoctorRequest

__all__ = ["Sample", "take"]

#: Between two writes: a relay that is slow to wake would join them, and hide what it does to two pieces.
APART_S = 0.002
LOOK_S = 0.0005  # between two looks at the queue, while it holds something


@dataclass
class Sample:
    """Nanoseconds. `held` begins when the last write had returned and ends when no byte was unsent.

    `late` is how much later than meant the second write, or the first look at the queue, was: a busy machine runs
    something else in between, and an acknowledgement that came meanwhile leaves nothing to be held.
    """

    arm: str
    status: int
    total: int
    wait: int  # last write to first byte of the answer
    tail: int  # first to last byte of the answer
    held: int | None
    held_bytes: int | None
    retransmits: int
    rwnd_limited: int
    min_rtt_us: int | None
    keep_alive: bool
    reused: bool
    late: int = 0

    def cause(self, line_ns: float) -> str | None:
        """The name of a wait longer than `line_ns`, in the order of the contract (TIME-26)."""
        if self.held is None or max(self.wait, self.held, self.tail) < line_ns:
            return None
        if self.held < line_ns:
            return "server"
        if self.rwnd_limited * 2 > self.held:
            return "peer_window"
        if self.retransmits:
            return "retransmit"
        return "nagle_delayed_ack" if self.arm == "split_nagle" else None


def take(connection: Connection, request: DoctorRequest, timeout_s: float, *, reused: bool) -> Sample:
    """One request and its answer. Raises OSError, BadResponse."""
    connection.begin(timeout_s)
    before = read_tcp_info(connection.raw)
    started = time.monotonic_ns()
    late = 0
    if connection.arm.split:
        connection.write(request.first)
        between = time.monotonic_ns()
        time.sleep(APART_S)
        late = time.monotonic_ns() - between - int(APART_S * 1e9)
        connection.write(request.second)
    else:
        connection.write(request.first + request.second)
    written = time.monotonic_ns()
    most = kernel.not_sent(connection.raw)
    late += time.monotonic_ns() - written
    held = _watch(connection, most, written, timeout_s)
    response = connection.reader.read(request.method)
    after = read_tcp_info(connection.raw)
    both = (before, after) if before is not None and after is not None else None
    return Sample(
        arm=connection.arm.key,
        status=response.status,
        total=response.last_ns - started,
        wait=max(0, response.first_ns - written),
        tail=response.last_ns - response.first_ns,
        held=held,
        held_bytes=most,
        retransmits=both[1].total_retrans - both[0].total_retrans if both else 0,
        rwnd_limited=(both[1].rwnd_limited_us - both[0].rwnd_limited_us) * 1000 if both else 0,
        min_rtt_us=after.min_rtt_us if after else None,
        keep_alive=response.keep_alive,
        reused=reused,
        late=late,
    )


def _watch(connection: Connection, most: int | None, written_ns: int, timeout_s: float) -> int | None:
    """How long bytes stayed in the queue, which held `most` of them. Ends when it is empty, or the answer begins."""
    if not most:
        return most
    deadline = written_ns + int(timeout_s * 1e9)
    while (now := time.monotonic_ns()) < deadline:
        left = kernel.not_sent(connection.raw) or 0
        if left == 0:
            break
        if select.select([connection.raw], [], [], LOOK_S)[0]:
            # An answer to half a request: it may be early, so the queue is asked once more.
            now = time.monotonic_ns()
            break
    return now - written_ns
