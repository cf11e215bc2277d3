"""The proxy of an unmodified command: it sees every connection from its first byte.

Plain requests are counted and forwarded. CONNECT to the tool's own name ends in the tap, which decrypts it; any other
CONNECT is passed on without decrypting.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections import Counter

from onewrite_lab.tap import Arrival, Channel, RequestParser

from onewrite_cli.check.client_sockets import ClientSockets
from onewrite_cli.check.forwarded import Forwarded, first_bytes
from onewrite_cli.check.tunnel import Tunnel
from onewrite_cli.common.origin import Origin, authority

__all__ = ["OWN_NAME", "Proxy"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"


class Proxy:
    """`secure` serves tunnels to the tool's own name."""

    def __init__(self, plain: Origin, secure: Origin, sockets: ClientSockets) -> None:
        self._plain, self._secure, self._sockets = plain, secure, sockets
        self._lock = threading.Lock()
        self.tunnels: list[tuple[str, Arrival, Tunnel]] = []
        self.forwarded: Counter[str] = Counter()  # plain requests by the service that got them
        self.unreachable: list[str] = []
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        if hasattr(socket, "TCP_QUICKACK"):
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                with self._lock:
                    self._open.add(sock)
                threading.Thread(target=self._one, args=(sock,), daemon=True).start()

    def _one(self, sock: socket.socket) -> None:
        with sock:
            self._serve(sock)
        with self._lock:
            self._open.discard(sock)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            start = first_bytes(sock)
            if not start.startswith(b"CONNECT "):
                self._forward(sock)
                return
            host, _, port = start.split(b" ", 2)[1].decode("latin-1").rpartition(":")
            if host == OWN_NAME:
                (self._plain if port == "80" else self._secure).serve(sock, "connect")
            else:
                self._tunnel(sock, host.strip("[]"), port)

    def _forward(self, sock: socket.socket) -> None:
        channel = Channel(sock)
        arrival = self._plain.arrive(channel, "forward")
        if arrival is None:
            return
        try:
            Forwarded(self._plain, channel, arrival, OWN_NAME, self.forwarded, self.unreachable).run()
        finally:
            arrival.ended = True

    def _tunnel(self, sock: socket.socket, host: str, port: str) -> None:
        channel = Channel(sock)
        parser = RequestParser()
        while not parser.head_done:
            piece = channel.receive(10.0)
            if piece is None or not piece.data:
                return
            parser.feed(piece.data)
        arrival = Arrival(len(self.tunnels), channel.peer_port, channel.local_port, "connect")
        tunnel = Tunnel(channel, lambda: self._sockets.holds(arrival))
        with self._lock:
            self.tunnels.append((authority(host, port), arrival, tunnel))
        self._sockets.look(arrival, again=False)
        tunnel.run(host, int(port or 443))

    def close(self) -> None:
        """End listening and every connection."""
        with self._lock:
            for sock in [self._listener, *self._open]:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
