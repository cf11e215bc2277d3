"""Accepts the command's connections, so that their first requests meet a receiver that delays its ACKs.

A new connection on Linux is acknowledged at once for a while, and a command that makes one request per connection
would never show its stall. TCP_QUICKACK off on the listening socket, which every accepted one inherits, ends that;
HAProxy does the same, so this is what clients meet.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

__all__ = ["Door"]


class Door:
    """Listens on a port of the kernel's choice and calls `serve(sock)` in a thread per connection."""

    def __init__(self, serve: Callable[[socket.socket], None], host: str = "127.0.0.1") -> None:
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
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                with self._lock:
                    if self._closed:
                        sock.close()
                        return
                    self._open.add(sock)
                threading.Thread(target=self._one, args=(sock,), daemon=True).start()

    def _one(self, sock: socket.socket) -> None:
        try:
            self._serve(sock)
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
