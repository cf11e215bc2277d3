"""What the kernel says about the doctor's own socket: TCP_INFO and SIOCOUTQNSD.

Offsets are those of struct tcp_info in include/uapi/linux/tcp.h (4.19 and newer).
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
from dataclasses import dataclass

__all__ = ["AVAILABLE", "Kernel", "not_sent", "read"]

AVAILABLE = sys.platform == "linux"

SIOCOUTQNSD = 0x894B  # bytes in the send queue that were never sent
_U32 = struct.Struct("=I")
_U64 = struct.Struct("=Q")


@dataclass(frozen=True)
class Kernel:
    """One reading. Counts and `rwnd_limited_us` are since the connection began."""

    rtt_us: int
    min_rtt_us: int
    snd_cwnd: int
    snd_mss: int
    total_retrans: int
    data_segs_out: int
    rwnd_limited_us: int


def read(sock: socket.socket) -> Kernel | None:
    """None where the system or the kernel has no such thing."""
    if not AVAILABLE:
        return None
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return None
    if len(raw) < 192:
        return None
    return Kernel(
        rtt_us=_U32.unpack_from(raw, 68)[0],
        min_rtt_us=_U32.unpack_from(raw, 148)[0],
        snd_cwnd=_U32.unpack_from(raw, 80)[0],
        snd_mss=_U32.unpack_from(raw, 16)[0],
        total_retrans=_U32.unpack_from(raw, 100)[0],
        data_segs_out=_U32.unpack_from(raw, 156)[0],
        rwnd_limited_us=_U64.unpack_from(raw, 176)[0],
    )


def not_sent(sock: socket.socket) -> int | None:
    """Bytes that were written and have not left; None where the kernel does not say."""
    if not AVAILABLE:
        return None
    try:
        return int(_U32.unpack(fcntl.ioctl(sock.fileno(), SIOCOUTQNSD, bytes(4)))[0])
    except OSError:
        return None
