"""The kernel's side of a request, read from TCP_INFO (Linux; linux/tcp.h, struct tcp_info).

A reading at the first byte of the answer shows whether the kernel held bytes back after the last write had returned:
then it last sent data later than that. Offsets of the fields used here: last_data_sent 44 (ms), rtt 68, total_retrans
100, min_rtt 148, data_segs_out 156, rwnd_limited 176. The struct has only grown at its end, so the length that a
kernel returns shows whether it has them all.
"""

from __future__ import annotations

import socket
import struct
import sys
import typing

from .._sockets import tcp

#: Whether this platform has the evidence at all.
AVAILABLE = sys.platform == "linux" and hasattr(socket, "TCP_INFO")

_TCP_INFO = getattr(socket, "TCP_INFO", 0)
_LENGTH = 184
fields = struct.Struct("=44xI20xI28xI44xI4xI16xQ").unpack_from

#: An answer that comes sooner than this after the first write leaves the kernel no time to send anything again.
SOON_NS = 1_000_000


class KernelEvidence(typing.NamedTuple):
    """The kernel's side of one attempt."""

    #: Data segments sent for this request; None where requests before it were answered too soon for a reading.
    segments_out: int | None
    #: Smoothed round-trip time of the connection, in microseconds.
    rtt_us: int
    #: Smallest round-trip time seen on the connection, in microseconds.
    min_rtt_us: int
    #: Segments sent again for this request.
    retransmits: int
    #: How long the kernel held bytes after the last write returned, in nanoseconds (resolution: a jiffy).
    send_hold_ns: int


def read(sock: typing.Any) -> bytes | None:
    """Return the raw TCP_INFO of *sock*, or None where there is none (another platform, a Unix socket)."""
    data = tcp("getsockopt", sock, _TCP_INFO, _LENGTH) if AVAILABLE else None
    return data if type(data) is bytes and len(data) == _LENGTH else None


def nodelay_off(sock: typing.Any) -> bool:
    """Return whether TCP_NODELAY is off on *sock*."""
    return bool(tcp("getsockopt", sock, socket.TCP_NODELAY) == 0)
