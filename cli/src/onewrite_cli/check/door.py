"""Accepts the command's connections, so that their first requests meet a receiver that delays its ACKs.

A new connection on Linux is acknowledged at once for a while, and a command that makes one request per connection
would never show its stall. TCP_QUICKACK off on the listening socket, which every accepted one inherits, ends that;
HAProxy does the same, so this is what clients meet.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable

from onewrite_lab.witness import tcpinfo

__all__ = ["Door"]


class Door:
    """Listens on a port of the kernel's choice and calls `serve(sock, accepted_ns)` in a thread per connection.

    `accepted_ns` is when the connection came, as far as the kernel says; this thread may be late on a busy machine. One
    that was in the queue already may be as old as the one before it, and gets that one's time.
    """

    def __init__(self, serve: Callable[[socket.socket, int], None], host: str = "127.0.0.1") -> None:
        self._serve = serve
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._listener = socket.create_server((host, 0), backlog=128)
        if hasattr(socket, "TCP_QUICKACK"):
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        accepted_ns = 0
        with contextlib.suppress(OSError, ValueError):
            while True:
                queued = bool(select.select([self._listener], [], [], 0)[0])
                sock, _ = self._listener.accept()
                if not queued or not accepted_ns:
                    info = tcpinfo.read(sock)
                    accepted_ns = time.monotonic_ns() - (info.last_ack_recv_ms if info else 0) * 1_000_000
                with self._lock:
                    if self._closed:
                        sock.close()
                        return
                    self._open.add(sock)
                threading.Thread(target=self._one, args=(sock, accepted_ns), daemon=True).start()

    def _one(self, sock: socket.socket, accepted_ns: int) -> None:
        try:
            self._serve(sock, accepted_ns)
        finally:
            with self._lock:
                self._open.discard(sock)
            with contextlib.suppress(OSError):
                sock.close()

    def close(self) -> None:
        """End listening and every connection."""
        with self._lock:
            self._closed = True
            for sock in [self._listener, *self._open]:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
