"""The kernel's account of any TCP connection of this network namespace, by its ends: NETLINK_SOCK_DIAG (sock_diag(7)).

It needs no descriptor of the socket, no process and no right to ptrace one, and it takes some 20 µs.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from dataclasses import dataclass

from onewrite_lab.witness import tcpinfo
from onewrite_lab.witness.tcpinfo import TcpInfo

__all__ = ["AVAILABLE", "Diag", "End", "Found"]

AVAILABLE = sys.platform == "linux"

End = tuple[str, int]  # address, port

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
_NETLINK_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR, _INFO = 4, 20, 1, 2, 2
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_REQUEST_V2 = struct.Struct("=BBBBI")  # family, protocol, extensions, -, states
_ID = struct.Struct("!HH16s16sI8s")  # ports, addresses, interface, cookie
_NO_COOKIE = b"\xff" * 8
_INODE = _HEADER.size + 4 + _ID.size + 16
_ATTRIBUTES = _INODE + 4


@dataclass(frozen=True)
class Found:
    """`inode` names the socket in /proc/PID/fd; 0 where its process has closed it."""

    inode: int
    info: TcpInfo


class Diag:
    """One netlink socket, for all threads. Raises OSError where the system or a sandbox has none."""

    def __init__(self) -> None:
        if not AVAILABLE:
            raise OSError("NETLINK_SOCK_DIAG is Linux's")
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(1)
        self._lock = threading.Lock()
        self._number = 0

    def find(self, local: End, peer: End) -> Found | None:
        """The socket with these ends; None where this network namespace has none (a container's). Raises OSError."""
        (own, own_port), (other, other_port) = local, peer
        own, other = own.removeprefix("::ffff:"), other.removeprefix("::ffff:")
        family = socket.AF_INET6 if ":" in own else socket.AF_INET
        packed = (socket.inet_pton(family, one.partition("%")[0]) for one in (own, other))
        request = _REQUEST_V2.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, 0xFFFFFFFF)
        request += _ID.pack(own_port, other_port, *packed, 0, _NO_COOKIE)
        with self._lock:
            self._number += 1
            header = _HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST, self._number, 0)
            self._socket.sendall(header + request)
            number = 0
            while number != self._number:  # else the answer to a request that was given up
                answer = self._socket.recv(8192)
                _, kind, _, number, _ = _HEADER.unpack_from(answer)
        if kind == _ERROR:
            code = -struct.unpack_from("=i", answer, _HEADER.size)[0]
            if code in (2, 116):  # ENOENT, ESTALE
                return None
            raise OSError(code, f"NETLINK_SOCK_DIAG: {os.strerror(code)}")
        at = _ATTRIBUTES
        while at + 4 <= len(answer):
            size, name = struct.unpack_from("=HH", answer, at)
            if name == _INFO:
                info = tcpinfo.parsed(answer[at + 4 : at + size])
                return Found(struct.unpack_from("=I", answer, _INODE)[0], info) if info else None
            at += (max(size, 4) + 3) & ~3
        return None

    def close(self) -> None:
        self._socket.close()
