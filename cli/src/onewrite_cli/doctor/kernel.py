"""What the kernel holds back on the doctor's own socket: SIOCOUTQNSD (include/uapi/linux/sockios.h)."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys

__all__ = ["AVAILABLE", "not_sent"]

AVAILABLE = sys.platform == "linux"

SIOCOUTQNSD = 0x894B  # bytes in the send queue that were never sent
_U32 = struct.Struct("=I")


def not_sent(sock: socket.socket) -> int | None:
    """Bytes that were written and have not left; None where the kernel does not say."""
    if not AVAILABLE:
        return None
    try:
        return int(_U32.unpack(fcntl.ioctl(sock.fileno(), SIOCOUTQNSD, bytes(4)))[0])
    except OSError:
        return None
