"""The proxy of an unmodified command: it sees every connection from its first byte.

Plain requests are counted and forwarded. CONNECT to the tool's own name ends in the tap, which decrypts it; any other
CONNECT is passed on without decrypting.
"""

from __future__ import annotations

import contextlib
import ssl
from collections import Counter

from onewrite_lab.tap import Arrival, Channel, Conversation, RequestParser

from onewrite_cli.check.client_sockets import ClientSockets
from onewrite_cli.check.forwarded import Forwarded, first_bytes
from onewrite_cli.check.tunnel import Tunnel
from onewrite_cli.common.origin import Origin, authority

__all__ = ["OWN_NAME", "Proxy"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"


class Proxy(Origin):
    """The plain origin of a check, and a proxy. `secure` serves tunnels to the tool's own name."""

    def __init__(self, secure: Origin, sockets: ClientSockets) -> None:
        self._secure, self._sockets = secure, sockets
        self.tunnels: list[tuple[str, Arrival, Tunnel]] = []
        self.forwarded: Counter[str] = Counter()  # plain requests by the service that got them
        self.unreachable: list[str] = []
        super().__init__("http", sockets.look)

    def _connection(self, channel: Channel, arrival: Arrival) -> None:
        with channel.sock, contextlib.suppress(OSError, ssl.SSLError):
            self._serve(channel, arrival)
        arrival.ended = True

    def _serve(self, channel: Channel, arrival: Arrival) -> None:
        start = first_bytes(channel.sock)
        if not start.startswith(b"CONNECT "):
            Forwarded(self, channel, arrival, OWN_NAME, self.forwarded, self.unreachable).run()
            return
        host, _, port = start.split(b" ", 2)[1].decode("latin-1").rpartition(":")
        if host != OWN_NAME:
            self._tunnel(channel, arrival, host.strip("[]"), port)
        elif port == "80":
            arrival.via = "connect"
            Conversation(self, channel, arrival).run()
        else:
            self._secure.serve(channel.sock, "connect")

    def _tunnel(self, channel: Channel, arrival: Arrival, host: str, port: str) -> None:
        parser = RequestParser()
        while not parser.head_done:
            piece = channel.receive(10.0)
            if piece is None or not piece.data:
                return
            parser.feed(piece.data)
        tunnel = Tunnel(channel, lambda: self._sockets.holds(arrival))
        self.tunnels.append((authority(host, port), arrival, tunnel))
        self._sockets.look(arrival, again=False)
        tunnel.run(host, int(port or 443))
