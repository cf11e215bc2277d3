"""The proxy that an unmodified command is sent through: it sees every connection from its first byte.

Plain requests are counted and forwarded, CONNECT to the tool's own name ends in the judge's tap, which opens it;
any other CONNECT is passed on unopened.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections import Counter

from onewrite_lab.tap import Arrival, Channel, RequestParser

from onewrite_cli.check.door import Door
from onewrite_cli.check.forwarded import Forwarded, first_bytes
from onewrite_cli.check.origin import Look, Origin
from onewrite_cli.check.tunnel import Tunnel

__all__ = ["OWN_NAME", "Proxy"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"


class Proxy:
    """`secure` serves what is tunnelled to the tool's own name."""

    def __init__(self, plain: Origin, secure: Origin, look: Look) -> None:
        self._plain, self._secure, self._look = plain, secure, look
        self._lock = threading.Lock()
        self.tunnels: list[tuple[str, Arrival, Tunnel]] = []
        self.forwarded: Counter[str] = Counter()  # plain requests by the service that got them
        self.unreachable: list[str] = []
        self.door = Door(self._serve)
        self.url = f"http://127.0.0.1:{self.door.port}"

    def _serve(self, sock: socket.socket, accepted_ns: int) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            start = first_bytes(sock)
            if not start.startswith(b"CONNECT "):
                self._forward(sock, accepted_ns)
                return
            authority = start.split(b" ", 2)[1].decode("latin-1")
            host, _, port = authority.rpartition(":")
            if host == OWN_NAME:
                (self._plain if port == "80" else self._secure).serve(sock, "connect", accepted_ns)
            else:
                self._tunnel(sock, host.strip("[]"), port, accepted_ns)

    def _forward(self, sock: socket.socket, accepted_ns: int) -> None:
        channel = Channel(sock)
        arrival = self._plain.arrive(channel, "forward", accepted_ns)
        try:
            Forwarded(self._plain.tap, channel, arrival, OWN_NAME, self.forwarded, self.unreachable).run(self._plain.whole)
        finally:
            arrival.ended = True

    def _tunnel(self, sock: socket.socket, host: str, port: str, accepted_ns: int) -> None:
        channel = Channel(sock)
        parser = RequestParser()
        while not parser.head_done:
            piece = channel.receive(10.0)
            if piece is None or not piece.data:
                return
            parser.feed(piece.data)
        arrival = Arrival(len(self.tunnels), channel.peer_port, channel.local_port, "connect")
        tunnel = Tunnel(channel, accepted_ns)
        with self._lock:
            self.tunnels.append((f"{host}:{port}", arrival, tunnel))
        self._look(arrival, False)
        tunnel.run(host, int(port or 443))

    def close(self) -> None:
        self.door.close()
