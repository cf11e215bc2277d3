"""What the kernel knows of a request, read from TCP_INFO (Linux; linux/tcp.h, struct tcp_info).

One reading when the first byte of the answer is there tells whether the kernel held bytes back after the
last write had returned: it sent them later than we handed them over. Where the answer comes at once, a
reading right after the last write says the same, if nothing is unsent then; and it is free, because it is
made while the answer is awaited. Offsets of the fields used here: last_data_sent 44 (ms), rtt 68,
total_retrans 100, notsent_bytes 144, min_rtt 148, data_segs_out 156, rwnd_limited 176. The kernel grew
the struct at its end only, so an older one is told by the length it returns.
"""

from __future__ import annotations

import socket
import struct
import sys
import typing

from . import _nodelay

#: Whether this platform has the evidence at all.
AVAILABLE = sys.platform == "linux" and hasattr(socket, "TCP_INFO")

_IPPROTO_TCP = socket.IPPROTO_TCP
_TCP_INFO = getattr(socket, "TCP_INFO", 0)
_LENGTH = 184
#: Of notsent_bytes.
_NOTHING = bytes(4)
_fields = struct.Struct("=44xI20xI28xI44xI4xI16xQ").unpack_from

#: From here on a wait is long enough to ask for its cause, and a hold is one.
LONG_NS = 20_000_000
#: An answer that comes sooner than this leaves the kernel no time to send anything again.
SOON_NS = 1_000_000


class KernelEvidence(typing.NamedTuple):
    """The kernel's side of one attempt."""

    #: Data segments sent for this request.
    segments_out: int
    #: Smoothed round-trip time of the connection, in microseconds.
    rtt_us: int
    #: Smallest round-trip time seen on the connection, in microseconds.
    min_rtt_us: int
    #: Segments sent again for this request.
    retransmits: int
    #: How long the kernel held bytes after the last write returned, in nanoseconds (resolution: a jiffy).
    send_hold_ns: int


def read(sock: typing.Any, sent: bool = False) -> bytes | None:
    """The raw TCP_INFO of *sock*, or None where there is none (another platform, a Unix socket).

    With *sent*, after the last write, also None where the kernel still has bytes to send.
    """
    if not AVAILABLE:
        return None
    try:
        data: bytes = sock.getsockopt(_IPPROTO_TCP, _TCP_INFO, _LENGTH)
        return data if len(data) == _LENGTH and not (sent and data[144:148] != _NOTHING) else None
    except AttributeError:
        below = _nodelay.tcp_socket(sock)
        return read(below, sent) if below is not None and below is not sock else None
    except (OSError, ValueError, TypeError):
        return None


def may_nagle(sock: typing.Any, writes: int, wait_ns: int) -> bool:
    """Whether Nagle's algorithm may be why a request of *writes* writes waited *wait_ns*; asked while *sock* is open.

    It holds back what follows another write, and nothing while TCP_NODELAY is on. Only a long wait costs a
    reading of that.
    """
    if writes < 2 or wait_ns < LONG_NS:
        return False
    below = _nodelay.tcp_socket(sock)
    try:
        return below is not None and not below.getsockopt(_IPPROTO_TCP, socket.TCP_NODELAY)
    except (OSError, ValueError):
        return False


def evidence(before: bytes, after: bytes, wait_ns: int, held: bool, nagle: bool) -> tuple[KernelEvidence, str | None]:
    """Compare two readings around a request that waited *wait_ns*; return the evidence and the cause of the wait.

    The rule is that of spec/events.yaml, ``causes``. Without *held* all bytes were sent when the last write
    had returned; *nagle* is what ``may_nagle`` said. What pacing, a queue or the network held has no cause.
    """
    _, _, retrans_before, _, segments_before, limited_before = _fields(before)
    last_data_sent_ms, rtt, retrans, min_rtt, segments, limited = _fields(after)
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
