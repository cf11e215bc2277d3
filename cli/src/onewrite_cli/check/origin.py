"""The server that a command is pointed at: the tap behind a door, and the witness at the client's sockets."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
from collections.abc import Callable

from onewrite_lab.tap import Answer, Arrival, Channel, Conversation, Exchange, Request, Script, Tap

from onewrite_cli.check.door import Door

__all__ = ["Look", "Origin", "is_http2", "longest_gap_ns"]

#: A silence within a request after which its socket is read again: the client may have changed it in between.
GAP_NS = 5_000_000


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

    def __init__(self, scheme: str, look: Look) -> None:
        self.scheme = scheme
        self._look = look
        self._lock = threading.Lock()
        self.tap = _ClosingTap(Script(), scheme=scheme, on_request=self.whole)
        self.accepted_ns: dict[int, int] = {}  # by the arrival's index
        self.door = Door(lambda sock, accepted_ns: self.serve(sock, "direct", accepted_ns))
        self.url = f"{scheme}://127.0.0.1:{self.door.port}/"

    def whole(self, exchange: Exchange) -> None:
        """A request is complete, and not answered yet."""
        self._look(exchange.arrival, longest_gap_ns(exchange) >= GAP_NS)

    def arrive(self, channel: Channel, via: str, accepted_ns: int) -> Arrival:
        with self._lock:
            arrival = Arrival(len(self.tap.arrivals), channel.peer_port, channel.local_port, via)
            self.tap.arrivals.append(arrival)
            self.accepted_ns[arrival.index] = accepted_ns
        return arrival

    def serve(self, sock: socket.socket, via: str, accepted_ns: int) -> None:
        """One connection, from its first byte: `via` is direct or connect."""
        try:
            channel = Channel(sock)
        except OSError:  # reset meanwhile
            return
        arrival = self.arrive(channel, via, accepted_ns)
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
