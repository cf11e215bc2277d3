"""The server that a command or the tool's own client is pointed at: the tap, on a socket that delays its ACKs.

A new connection on Linux is acknowledged at once for a while, and a command that makes one request per connection
would never show its stall. TCP_QUICKACK off on the listening socket, which every accepted one inherits, ends that;
HAProxy does the same, so this is what clients meet.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
from collections.abc import Callable

from onewrite_lab.tap import Answer, Arrival, Channel, Conversation, Exchange, Request, Script, Tap

__all__ = ["Door", "Look", "Origin", "authority", "is_http2", "longest_gap_ns"]

#: A silence within a request after which its socket is read again: the client may have changed it in between.
GAP_NS = 5_000_000


def authority(host: str, port: object) -> str:
    """Host and port as they stand in a URL: an IPv6 address in brackets (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Door:
    """Listens on a port of the kernel's choice and calls `serve(sock)` in a thread per connection."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        if hasattr(socket, "TCP_QUICKACK"):
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError, ValueError):
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


def _answer(then: str, *headers: list[str]) -> Answer:
    return Answer(headers=[["Content-Type", "text/plain"], *headers], body={"text": "ok\n"}, then=then)


KEEP = _answer("keep")
KEEP_1_0 = _answer("keep", ["Connection", "keep-alive"])
CLOSE = _answer("close", ["Connection", "close"])

#: Called for each whole request before it is answered, while its socket surely exists; True: read the socket again.
Look = Callable[[Arrival, bool], None]


def is_http2(request: Request) -> bool:
    """True for the preface of HTTP/2 (RFC 9113, 3.4)."""
    return request.head.startswith(b"PRI * HTTP/2")


def longest_gap_ns(exchange: Exchange) -> int:
    """The longest silence between two pieces of a request."""
    times = [t_ns for t_ns, _ in exchange.reads]
    return max((after - before for before, after in itertools.pairwise(times)), default=0)


class _ClosingTap(Tap):
    """A tap that ends a connection when the client wants that (RFC 9112, 9.3)."""

    def answer_for(self, exchange: Exchange) -> Answer:
        request = exchange.request
        options = ",".join(request.values("connection")).lower()
        if "close" in options or is_http2(request):
            return CLOSE
        if request.head.partition(b"\r\n")[0].endswith(b"HTTP/1.0"):
            return KEEP_1_0 if "keep-alive" in options else CLOSE
        return KEEP


class Origin:
    """One server, plain or TLS, on a port of the kernel's choice."""

    def __init__(self, scheme: str, look: Look | None = None) -> None:
        self._look = look
        self._lock = threading.Lock()
        self.tap = _ClosingTap(Script(), scheme=scheme, on_request=self.whole)
        self.door = Door(lambda sock: self.serve(sock, "direct"))
        self.url = f"{scheme}://127.0.0.1:{self.door.port}/"

    def whole(self, exchange: Exchange) -> None:
        """A request is complete, and not answered yet."""
        if self._look is not None:
            self._look(exchange.arrival, longest_gap_ns(exchange) >= GAP_NS)

    def arrive(self, channel: Channel, via: str) -> Arrival:
        with self._lock:
            arrival = Arrival(len(self.tap.arrivals), channel.peer_port, channel.local_port, via)
            self.tap.arrivals.append(arrival)
        return arrival

    def serve(self, sock: socket.socket, via: str) -> None:
        """One connection, from its first byte: `via` is direct or connect."""
        try:
            channel = Channel(sock)
        except OSError:  # reset meanwhile
            return
        arrival = self.arrive(channel, via)
        try:
            Conversation(self.tap, channel, arrival).run()
        except (OSError, ssl.SSLError, TimeoutError) as error:
            arrival.failure = arrival.failure or str(error)
        finally:
            arrival.ended = True
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.tap.stop.set()
        self.door.close()
        self.tap.close()
