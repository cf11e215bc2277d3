"""TCP_QUICKACK (Linux): acknowledge at once while a response is being read."""

from __future__ import annotations

import io
import socket
import typing

from .._sockets import tcp_socket

#: The socket option, or None where the platform has none.
QUICKACK = getattr(socket, "TCP_QUICKACK", None)


class Raw(io.RawIOBase):
    """The raw file of a socket, of which the bytes *first* have been read already.

    *first* may be b"", the end of the file, or None: nothing was read. With *quick* it asks the kernel, before
    the second read of a response, to acknowledge at once: a server that writes head and body apart with Nagle on
    waits for the client's ACK between the two. The flag is not sticky (tcp(7)), so it is set for each response;
    a response that comes in one read needs none. *reads* is how many reads were made.
    """

    def __init__(
        self, raw: typing.Any, sock: typing.Any, quick: bool, first: bytes | None = None, reads: int = 0
    ) -> None:
        self._raw = raw
        self._first = None if first is None else memoryview(first)
        self._sock = sock if quick and QUICKACK is not None else None
        self._reads = reads

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: typing.Any) -> typing.Any:
        first = self._first
        if first is not None:
            size = min(len(first), len(buffer))
            buffer[:size] = first[:size]
            self._first = first[size:] if size < len(first) else None
            return size
        self._reads += 1
        if self._sock is not None and self._reads >= 2:
            _acknowledge(self._sock)
        return self._raw.readinto(buffer)

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def close(self) -> None:
        if not self.closed:
            self._sock = None
            try:
                self._raw.close()
            finally:
                super().close()


def _acknowledge(sock: typing.Any) -> None:
    tcp = tcp_socket(sock)
    try:
        tcp.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
    except (OSError, ValueError, TypeError, AttributeError):
        return
