"""The name of a long wait, from two readings of the kernel (spec/events.yaml, ``causes``)."""

from __future__ import annotations

import socket
import typing

from .._sockets import tcp_socket
from . import kernel
from .kernel import KernelEvidence

#: From here on a wait is long enough to ask for its cause, and a hold is one.
LONG_NS = 20_000_000


def may_nagle(sock: typing.Any, writes: int, wait_ns: int) -> bool:
    """Whether Nagle's algorithm may be why a request of *writes* writes waited *wait_ns*; asked while *sock* is open.

    It holds back what follows another write, and nothing while TCP_NODELAY is on. Only a long wait costs a
    reading of that.
    """
    if writes < 2 or wait_ns < LONG_NS:
        return False
    below = tcp_socket(sock)
    try:
        return below is not None and not below.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    except (OSError, ValueError):
        return False


def judge(before: bytes, after: bytes, wait_ns: int, held: bool, nagle: bool) -> tuple[KernelEvidence, str | None]:
    """Compare two readings around a request that waited *wait_ns*; return the evidence and the cause of the wait.

    Without *held* all bytes were sent when the last write had returned; *nagle* is what ``may_nagle`` said.
    What pacing, a queue or the network held has no cause.
    """
    _, _, retrans_before, _, segments_before, limited_before = kernel.fields(before)
    last_data_sent_ms, rtt, retrans, min_rtt, segments, limited = kernel.fields(after)
    hold = min(max(wait_ns - last_data_sent_ms * 1_000_000, 0), wait_ns) if held else 0
    found = KernelEvidence(segments - segments_before, rtt, min_rtt, retrans - retrans_before, hold)
    if wait_ns < LONG_NS:
        return found, None
    if hold < LONG_NS:
        return found, "server"
    # A closed window first: the kernel probes it, and counts its probes as retransmissions.
    if (limited - limited_before) * 1000 > hold / 2:
        return found, "peer_window"
    if found.retransmits > 0:
        return found, "retransmit"
    return found, "nagle_delayed_ack" if nagle else None
