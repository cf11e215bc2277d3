"""The proxy that an unmodified command is sent through: it sees every connection from its first byte.

Plain requests are counted and forwarded, CONNECT to the tool's own name ends in the judge's tap, which opens it;
any other CONNECT is passed on unopened.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from onewrite_lab.tap import Arrival, Channel, Exchange, RequestParser, Tap

from onewrite_cli.check.door import Door
from onewrite_cli.check.forwarded import Forwarded, first_bytes
from onewrite_cli.check.origin import Origin
from onewrite_cli.check.tunnel import Tunnel

__all__ = ["OWN_NAME", "Proxy"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"


class Proxy:
    """`secure` serves what is tunnelled to the tool's own name."""

    def __init__(self, plain: Origin, secure: Origin, on_request: Callable[[Arrival], None]) -> None:
        self._plain, self._secure, self._on_request = plain, secure, on_request
        self._lock = threading.Lock()
        self.tunnels: list[tuple[str, Arrival, Tunnel]] = []
        self.door = Door(self._serve)
        self.url = f"http://127.0.0.1:{self.door.port}"

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            start = first_bytes(sock)
            if not start.startswith(b"CONNECT "):
                self._forward(sock)
                return
            authority = start.split(b" ", 2)[1].decode("latin-1")
            host, _, port = authority.rpartition(":")
            if host == OWN_NAME:
                (self._plain if port == "80" else self._secure).serve(sock, "connect")
            else:
                self._tunnel(sock, host.strip("[]"), port)

    def _arrive(self, tap: Tap, channel: Channel, via: str) -> Arrival:
        with self._lock:
            arrival = Arrival(len(tap.arrivals), channel.peer_port, channel.local_port, via)
            tap.arrivals.append(arrival)
        return arrival

    def _forward(self, sock: socket.socket) -> None:
        channel = Channel(sock)
        arrival = self._arrive(self._plain.tap, channel, "forward")

        def whole(exchange: Exchange) -> None:
            self._on_request(exchange.arrival)

        try:
            Forwarded(self._plain.tap, channel, arrival, OWN_NAME).run(whole)
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
        tunnel = Tunnel(channel)
        with self._lock:
            self.tunnels.append((f"{host}:{port}", arrival, tunnel))
        self._on_request(arrival)
        tunnel.run(host, int(port or 443))

    def close(self) -> None:
        self.door.close()
