"""What the kernel knows about one TCP connection, read with getsockopt(TCP_INFO).

Offsets are those of struct tcp_info in the kernel's include/uapi/linux/tcp.h. The kernel returns as much
as it knows; a field beyond what came back is None.
"""

from __future__ import annotations

import socket
import struct
import sys
from dataclasses import dataclass

__all__ = ["AVAILABLE", "TcpInfo", "nodelay", "read"]

AVAILABLE = sys.platform == "linux"

_U32 = struct.Struct("=I")
_U64 = struct.Struct("=Q")


@dataclass(frozen=True)
class TcpInfo:
    """One snapshot. Counts, and `rwnd_limited_us`, are since the connection began."""

    data_segs_in: int
    data_segs_out: int
    bytes_received: int
    bytes_sent: int
    total_retrans: int
    rtt_us: int
    min_rtt_us: int
    rwnd_limited_us: int
    not_sent: int = 0  # bytes in the send queue that were never sent
    last_data_sent_ms: int = 0  # since the last data segment left
    last_ack_recv_ms: int = 0  # since the last ACK came; on a new connection, since the handshake


def read(sock: socket.socket) -> TcpInfo | None:
    """Return a snapshot, or None where the system or the kernel has none (not Linux, before 4.19)."""
    if not AVAILABLE:
        return None
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return None
    if len(raw) < 208:
        return None
    return TcpInfo(
        data_segs_in=_U32.unpack_from(raw, 152)[0],
        data_segs_out=_U32.unpack_from(raw, 156)[0],
        bytes_received=_U64.unpack_from(raw, 128)[0],
        bytes_sent=_U64.unpack_from(raw, 200)[0],
        total_retrans=_U32.unpack_from(raw, 100)[0],
        rtt_us=_U32.unpack_from(raw, 68)[0],
        min_rtt_us=_U32.unpack_from(raw, 148)[0],
        rwnd_limited_us=_U64.unpack_from(raw, 176)[0],
        not_sent=_U32.unpack_from(raw, 144)[0],
        last_data_sent_ms=_U32.unpack_from(raw, 44)[0],
        last_ack_recv_ms=_U32.unpack_from(raw, 56)[0],
    )


def nodelay(sock: socket.socket) -> bool:
    """Whether TCP_NODELAY is set on this socket."""
    return bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
