"""The server that a command is pointed at: the judge's tap behind a door, and the witness at the client's sockets."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from onewrite_lab.tap import Answer, Arrival, Channel, Conversation, Exchange, Script, Tap

from onewrite_cli.check.door import Door

__all__ = ["Origin"]

ANSWER = {"headers": [["Content-Type", "text/plain"]], "body": {"text": "ok\n"}}


class Origin:
    """`on_request(arrival)` is called for each whole request before it is answered, while its socket surely exists."""

    def __init__(self, scheme: str, on_request: Callable[[Arrival], None]) -> None:
        self.scheme = scheme
        self._lose_at: int | None = None
        self._on_request = on_request
        self._lock = threading.Lock()
        self.tap = Tap(Script.of({"answers": [ANSWER]}), scheme=scheme, on_request=self._complete)
        self.door = Door(self.serve_direct)
        self.url = f"{scheme}://127.0.0.1:{self.door.port}/"

    def lose_answer(self, at: int) -> None:
        """Close the connection instead of answering the `at`th request from now (0 is the next)."""
        self._lose_at = len(self.tap.exchanges) + at

    def _complete(self, exchange: Exchange) -> None:
        self._on_request(exchange.arrival)
        if exchange.number == self._lose_at:
            exchange.answer = Answer(then="close")
            raise ConnectionAbortedError("the answer is lost on purpose")

    def serve_direct(self, sock: socket.socket) -> None:
        self.serve(sock, "direct")

    def serve(self, sock: socket.socket, via: str) -> None:
        """One connection, from its first byte: `via` is direct or connect."""
        try:
            channel = Channel(sock)
        except OSError:  # reset before we looked
            return
        with self._lock:
            arrival = Arrival(len(self.tap.arrivals), channel.peer_port, channel.local_port, via)
            self.tap.arrivals.append(arrival)
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
