"""The proxy of an unmodified command: it sees every connection from its first byte.

Plain requests are counted and forwarded. CONNECT to the tool's own name ends in the tap, which decrypts it; any other
CONNECT is passed on without decrypting.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections import Counter

from onewrite_lab.tap import Arrival, Channel, RequestParser

from onewrite_cli.check.forwarded import BAD_REQUEST, CONNECT_S, PIECE, Forwarded, first_bytes, host_and_port
from onewrite_cli.check.watched import Watched, WatchedOrigin, ends_of
from onewrite_cli.common.origin import Origin, authority
from onewrite_cli.common.sockets import Sockets

__all__ = ["OWN_NAME", "Proxy"]

#: No loopback name: Go, Ruby and Java send those past any proxy. The domain `test` is reserved (RFC 6761, 6.2).
OWN_NAME = "check.onewrite.test"
AUTHORITY = re.compile(rb"CONNECT +(\S+) ")
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy(WatchedOrigin):
    """The plain origin of a check, and a proxy. `secure` serves tunnels to the tool's own name."""

    def __init__(self, secure: Origin, sockets: Sockets) -> None:
        self._secure = secure
        self.tunnels: list[tuple[str, Arrival]] = []  # not decrypted, by the service
        self.forwarded: Counter[str] = Counter()  # plain requests by the service that got them
        self.unreachable: list[str] = []
        super().__init__("http", sockets)

    def _connection(self, channel: Channel, arrival: Arrival) -> None:
        with channel.sock, contextlib.suppress(OSError, ssl.SSLError):
            try:
                self._serve(channel, arrival)
            except (OSError, ssl.SSLError):
                raise
            except Exception as error:  # a fault of the tool: the client hears of it, and so does the user
                arrival.failure = f"{type(error).__name__}: {error}, in the tool's proxy"
                channel.send(b"HTTP/1.1 500 onewrite check failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        arrival.ended = True

    def _serve(self, channel: Channel, arrival: Arrival) -> None:
        start = first_bytes(channel.sock)
        line, end, _ = start.partition(b"\n")
        bare = end and not line.endswith(b"\r")
        if start[:1].isalpha() and not start.startswith(b"CONNECT ") and not bare:
            Forwarded(self, channel, arrival, OWN_NAME, self.forwarded, self.unreachable).run()
            return
        found = None if bare else AUTHORITY.match(start)
        where = host_and_port(found[1]) if found else None
        if where is None:
            channel.receive(0)
            channel.send(BAD_REQUEST)
            channel.close(linger_s=0.3)
        elif where[0].lower() != OWN_NAME:
            self._tunnel(channel, arrival, *where)
        elif where[1] == 80:
            arrival.via = "connect"
            Watched(self, channel, arrival).run()
        else:
            self._secure.serve(channel.sock, "connect")

    def _tunnel(self, channel: Channel, arrival: Arrival, host: str, port: int) -> None:
        parser, behind = RequestParser(), b""
        while not parser.head_done:
            piece = channel.receive(10.0)
            if piece is None or not piece.data:
                return
            behind = parser.feed(piece.data)
        self.sockets.look(ends_of(arrival), anew=True)
        named = authority(host, port)
        try:
            upstream = socket.create_connection((host, port), timeout=CONNECT_S)
        except (OSError, ValueError) as error:  # ValueError: a name that IDNA does not take
            self.unreachable.append(f"{named}: {error}")
            channel.send(BAD_GATEWAY)
            return
        self.tunnels.append((named, arrival))
        with upstream:
            for sock in (upstream, channel.sock):
                sock.settimeout(None)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(upstream, channel.sock), daemon=True)
            back.start()
            _pass_on(channel.sock, upstream, behind)
            back.join()


def _pass_on(source: socket.socket, to: socket.socket, first: bytes = b"") -> None:
    """All bytes of one direction, and its end."""
    with contextlib.suppress(OSError):
        to.sendall(first)
        while data := source.recv(PIECE):
            to.sendall(data)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_WR)
