"""The cause of a long wait, from two readings of the kernel (spec/events.yaml, ``causes``)."""

from __future__ import annotations

from . import kernel
from .kernel import KernelEvidence

#: A wait of at least this has a cause, and a hold of at least this is one.
LONG_NS = 20_000_000


def judge(before: bytes, after: bytes, wait_ns: int, counted: bool, nagle: bool) -> tuple[KernelEvidence, str | None]:
    """Compare two readings around a request that waited *wait_ns*; return the evidence and the cause of the wait.

    *counted* says that no other request was sent after the first reading. *nagle* says that the request took two
    writes or more and that TCP_NODELAY is off: only then does Nagle's algorithm hold anything back. What pacing, a
    queue or the network held has no cause.
    """
    _, _, retrans_before, _, segments_before, limited_before = kernel.fields(before)
    last_data_sent_ms, rtt, retrans, min_rtt, segments, limited = kernel.fields(after)
    hold = min(max(wait_ns - last_data_sent_ms * 1_000_000, 0), wait_ns)
    sent = segments - segments_before if counted else None
    found = KernelEvidence(sent, rtt, min_rtt, retrans - retrans_before, hold)
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
