"""The kernel's side of a request, from TCP_INFO (Linux; linux/tcp.h, struct tcp_info), and the cause of a long wait.

One reading when the head of the answer is there shows how long the kernel held bytes after the last write had returned
(it last sent data later than that), and how long the answer lay in the socket before the program read it (the last
segment came that long ago).
"""

from __future__ import annotations

import socket
import struct
import sys
import typing

_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
#: As much as is used. The struct has only grown at its end, so the length that comes back shows whether all is there.
_LENGTH = 184
#: last_data_sent at 44, last_data_recv at 52 (ms); rtt at 68 (us); total_retrans at 100; min_rtt at 148 (us);
#: data_segs_out at 156; rwnd_limited at 176 (us).
_fields = struct.Struct("=44xI4xI12xI28xI44xI4xI16xQ").unpack_from

#: A wait of at least this has a cause.
LONG_NS = 20_000_000
#: An answer that comes sooner after the request leaves the kernel no time to hold or resend anything.
SOON_NS = 1_000_000


class Evidence(typing.NamedTuple):
    """The kernel's side of one request."""

    #: Data segments sent; None where requests before this one were answered too soon for a reading.
    segments_out: int | None
    #: Smoothed and smallest round-trip time of the connection, in microseconds.
    rtt_us: int
    min_rtt_us: int
    #: Segments sent again.
    retransmits: int
    #: How long the kernel held bytes after the last write had returned, in nanoseconds (resolution: a jiffy).
    send_hold_ns: int
    #: How long the answer lay in the client's socket buffer, in nanoseconds (resolution: a jiffy).
    unread_ns: int


def read(sock: typing.Any) -> bytes | None:
    """Return the raw TCP_INFO of *sock*, None where there is none (another platform, a Unix socket)."""
    if _TCP_INFO is None:
        return None
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LENGTH)
    except Exception:  # closed by another thread; a kind of the user's own, which may raise anything
        return None
    return data if type(data) is bytes and len(data) == _LENGTH else None


def is_nodelay_off(sock: typing.Any) -> bool:
    """Return whether Nagle's algorithm is on on *sock*."""
    try:
        return bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0)
    except Exception:
        return False


def judge(
    before: bytes, after: bytes, wait_ns: int, read_after_ns: int, counted: bool, nagle: bool
) -> tuple[Evidence, str | None]:
    """Compare the readings around a request that waited *wait_ns*; return the evidence and the cause of the wait.

    *read_after_ns*: from response_start to the second reading. *counted*: no other request was sent since the first
    reading. *nagle*: the request took two writes or more, and TCP_NODELAY was off: only then Nagle's algorithm holds.
    """
    _, _, _, retrans_before, _, segments_before, limited_before = _fields(before)
    sent_ms, received_ms, rtt, retrans, min_rtt, segments, limited = _fields(after)
    held = min(max(wait_ns - sent_ms * 1_000_000, 0), wait_ns)
    unread = min(max(received_ms * 1_000_000 - read_after_ns, 0), wait_ns)
    segments_out = segments - segments_before if counted else None
    evidence = Evidence(segments_out, rtt, min_rtt, retrans - retrans_before, held, unread)
    if wait_ns < LONG_NS:
        return evidence, None
    rest = rest_of(wait_ns, evidence)
    if max(held, unread, rest) > held:
        return evidence, "client" if unread >= rest else "server"
    # A closed window first: the kernel probes it, and counts its probes as segments sent again.
    if (limited - limited_before) * 1000 > held / 2:
        return evidence, "peer_window"
    if evidence.retransmits > 0:
        return evidence, "retransmit"
    return evidence, "nagle_delayed_ack" if nagle else None  # what pacing or a queue held has no cause


def rest_of(wait_ns: int, evidence: Evidence) -> int:
    """Return the part of a wait in which the bytes were neither held here nor unread here: network and server."""
    return max(wait_ns - evidence.send_hold_ns - evidence.unread_ns, 0)
