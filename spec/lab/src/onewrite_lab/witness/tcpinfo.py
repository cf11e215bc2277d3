"""The kernel's account of one TCP connection, read with getsockopt(TCP_INFO) or found by diag.py.

Offsets are those of struct tcp_info in the kernel's include/uapi/linux/tcp.h. An older kernel returns
less; a field beyond what came back is None.
"""

from __future__ import annotations

import socket
import struct
import sys
from dataclasses import dataclass

__all__ = ["AVAILABLE", "TcpInfo", "nodelay", "parsed", "read"]

AVAILABLE = sys.platform == "linux"

# Name, offset and format of each field that is read. This is the only table of offsets.
_FIELDS = {
    "mss": (16, struct.Struct("=I")),
    "unacked": (24, struct.Struct("=I")),
    "last_data_sent_ms": (44, struct.Struct("=I")),
    "last_ack_recv_ms": (56, struct.Struct("=I")),
    "rtt_us": (68, struct.Struct("=I")),
    "total_retrans": (100, struct.Struct("=I")),
    "bytes_received": (128, struct.Struct("=Q")),
    "not_sent": (144, struct.Struct("=I")),
    "min_rtt_us": (148, struct.Struct("=I")),
    "data_segs_in": (152, struct.Struct("=I")),
    "data_segs_out": (156, struct.Struct("=I")),
    "rwnd_limited_us": (176, struct.Struct("=Q")),
    "bytes_sent": (200, struct.Struct("=Q")),
}
_NEEDED = max(offset + form.size for offset, form in _FIELDS.values())


@dataclass(frozen=True)
class TcpInfo:
    """One snapshot. Counts, and `rwnd_limited_us`, are since the connection began."""

    data_segs_in: int = 0
    data_segs_out: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0
    total_retrans: int = 0
    rtt_us: int = 0
    min_rtt_us: int = 0
    rwnd_limited_us: int = 0
    not_sent: int = 0  # bytes in the send queue that were never sent
    last_data_sent_ms: int = 0  # since the last data segment left
    last_ack_recv_ms: int = 0  # since the last ACK came; on a new connection, since the handshake
    mss: int = 0  # bytes of a full segment to the peer
    unacked: int = 0  # segments that were sent and not acknowledged


def read(sock: socket.socket) -> TcpInfo | None:
    """Return a snapshot, or None where the system or the kernel has none (not Linux, before 4.19)."""
    if not AVAILABLE:
        return None
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return None
    return parsed(raw)


def parsed(raw: bytes) -> TcpInfo | None:
    """A struct tcp_info; None from a kernel before 4.19, whose struct is shorter."""
    if len(raw) < _NEEDED:
        return None
    return TcpInfo(**{name: form.unpack_from(raw, offset)[0] for name, (offset, form) in _FIELDS.items()})


def nodelay(sock: socket.socket) -> bool:
    """Whether TCP_NODELAY is set on this socket."""
    return bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
