"""Raw files of sockets, under the buffered file that a response is read from."""

from __future__ import annotations

import io
import socket
import typing

from . import _nodelay

#: The socket option, or None where the platform has none.
QUICKACK = getattr(socket, "TCP_QUICKACK", None)


class Begun(io.RawIOBase):
    """The raw file of a socket, of which the first bytes have been read already."""

    def __init__(self, raw: typing.Any, first: bytes) -> None:
        self._raw = raw
        self._first: memoryview | None = memoryview(first)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: typing.Any) -> typing.Any:
        first = self._first
        if first is None:
            return self._raw.readinto(buffer)
        size = min(len(first), len(buffer))
        buffer[:size] = first[:size]
        self._first = first[size:] if size < len(first) else None
        return size

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def close(self) -> None:
        if not self.closed:
            try:
                self._raw.close()
            finally:
                super().close()


class QuickAck(io.RawIOBase):
    """Passes reads on; before the second one it asks the kernel to acknowledge at once.

    A server that writes its head and body apart with Nagle on waits for our ACK between the two. The
    flag is not sticky (tcp(7)), so it is asked for with each response, and only when there is a second
    read: a server that answers in one write is asked nothing.
    """

    def __init__(self, raw: typing.Any, sock: typing.Any, reads: int = 0) -> None:
        self._raw = raw
        self._sock = sock
        self._reads = reads

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: typing.Any) -> typing.Any:
        self._reads += 1
        if self._reads >= 2 and self._sock is not None:
            quickack(self._sock)
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


def acknowledging(raw: typing.Any, sock: typing.Any, reads: int = 0) -> typing.Any:
    """*raw* of which *reads* reads were made, with quick acknowledgements where the platform has them."""
    return raw if QUICKACK is None else QuickAck(raw, sock, reads)


def quickack(sock: typing.Any) -> None:
    """Ask the kernel to acknowledge what comes next at once."""
    tcp = _nodelay.tcp_socket(sock)
    try:
        tcp.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
    except (OSError, ValueError, TypeError, AttributeError):
        return
