"""The tap: an HTTP/1.1 server that counts how a client's requests arrive and answers as a script says.

Per request it keeps the exact bytes, the data segments that the kernel counted (TCP_INFO), the TLS records, and
the times of its own doings. The count of segments begins where the last request was complete, read before its
answer was sent. A fast client's next request can otherwise slip into the count (RFC 9293 says nothing against
it, and on a loopback it happens every third time).

The tap is also a forward proxy (absolute-form) and a CONNECT proxy: the tunnel ends in the tap itself.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from onewrite_lab.tap.answers import Answer, Script
from onewrite_lab.tap.channel import Channel
from onewrite_lab.tap.conversation import Conversation
from onewrite_lab.tap.exchange import Arrival, Exchange

__all__ = ["Tap"]


Hook = Callable[[Exchange], None]


class Tap:
    """Listens as soon as it is made; `close` ends it and every connection.

    `on_request(exchange)` is called in the connection's thread when a request is complete, before it is answered:
    at this moment the client's socket exists. Its exceptions end the connection and show in `faults`.
    `on_hello(arrival)` is called likewise when the first bytes of a TLS handshake have come.
    `delay_acks` delays the ACKs of a connection from its first segment on (Linux acknowledges young ones at once).
    `conversation` serves a connection; a subclass of the tap may have another.
    """

    conversation: type[Conversation] = Conversation

    def __init__(
        self,
        script: Script | None = None,
        *,
        scheme: str = "http",
        route: str = "direct",
        on_request: Hook | None = None,
        on_hello: Callable[[Arrival], None] | None = None,
        trace: Callable[[str], None] | None = None,
        port: int = 0,
        delay_acks: bool = False,
    ) -> None:
        self.script = script or Script()
        self.scheme, self.route = scheme, route
        self.exchanges: list[Exchange] = []
        self.arrivals: list[Arrival] = []
        self.faults: list[str] = []
        self.on_request, self.on_hello = on_request, on_hello
        self._delay_acks = delay_acks
        self._trace = trace
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._answered = itertools.count()  # answers that were taken from the list
        self.stop = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.timers: list[threading.Timer] = []
        self._fillers: list[socket.socket] = []
        self._listeners: list[socket.socket] = []
        self.port = self._listen(self.script.host, port)
        self.other_port = self._listen(self.script.host) if self._wants_other() else 0
        self.proxy_port = 0
        if route != "direct":
            down = self.script.proxy.get("target") == "refused"
            self.proxy_port = self._refusing_port() if down else self._listen("127.0.0.1", via=route)
        if self.script.target == "refused":
            self.port = self._refusing_port()
        elif self.script.target == "unanswered":
            self.port = self._unanswering_port()

    # -- addresses ----------------------------------------------------------------------------------------

    @property
    def authority(self) -> str:
        host = "nowhere.invalid" if self.script.target == "unresolvable" else self.script.host
        return f"{host}:{self.port}"

    @property
    def base(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def names(self) -> dict[str, str]:
        """The macros of CASES.md."""
        host, _, port = self.authority.rpartition(":")
        other = f"{self.scheme}://{self.script.host}:{self.other_port}"
        names = {"base": self.base, "authority": self.authority, "host": host, "port": port, "other": other}
        return names | {"proxy": f"127.0.0.1:{self.proxy_port}"}

    @property
    def proxy_url(self) -> str | None:
        user = self.script.proxy.get("user", "")
        return f"http://{user}{'@' if user else ''}127.0.0.1:{self.proxy_port}" if self.proxy_port else None

    def _wants_other(self) -> bool:
        everything = [*self.script.answers, *self.script.by_path.values()]
        texts = [text for answer in everything for text in (answer.redirect, answer.raw) if text]
        return any("{other}" in text for text in texts)

    # -- listening ----------------------------------------------------------------------------------------

    def _listen(self, host: str, port: int = 0, via: str = "direct") -> int:
        addresses = ["127.0.0.1", "::1"] if host == "localhost" else [host]
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.script.mss:
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.script.mss)
            if self.script.rcvbuf:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.script.rcvbuf)
            try:
                listener.bind((address, port))
            except OSError as error:
                listener.close()
                if address == "::1" and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    continue  # a machine without IPv6
                raise
            listener.listen(128)
            if self._delay_acks and hasattr(socket, "TCP_QUICKACK"):
                # Accepted sockets inherit it. listen(2) would reset it.
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            port = listener.getsockname()[1]
            self._listeners.append(listener)
            self._start(self._accept, listener, via)
        return port

    def _refusing_port(self) -> int:
        """A port that is bound, so that no other program gets it, and that does not listen."""
        holder = socket.socket()
        self._fillers.append(holder)
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])

    def _unanswering_port(self) -> int:
        """A port whose queue of connections is full: the kernel drops each further SYN."""
        port, first = self._refusing_port(), len(self._fillers)
        self._fillers[-1].listen(0)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            self._fillers.append(filler)
        select.select([], self._fillers[first:], [], 5.0)  # one that is connected fills the queue
        return port

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, via: str) -> None:
        while not self.stop.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            try:
                channel = Channel(sock)
            except OSError:  # reset before it was read
                sock.close()
                continue
            arrival = self.arrive(channel, via)
            if arrival is None:
                return
            self._start(self._connection, channel, arrival)

    def arrive(self, channel: Channel, via: str) -> Arrival | None:
        """Note a connection, which another listener may have accepted; None, and closed, when the tap was closed."""
        with self._lock:
            if self.stop.is_set():
                channel.sock.close()
                return None
            arrival = Arrival(len(self.arrivals), channel.peer_port, channel.local_port, via)
            self.arrivals.append(arrival)
            self._open.add(channel.sock)
            return arrival

    def serve(self, sock: socket.socket, via: str) -> None:
        """One connection that another listener has accepted, until it ends. Raises OSError."""
        channel = Channel(sock)
        arrival = self.arrive(channel, via)
        if arrival is not None:
            self._connection(channel, arrival)

    # -- one connection -----------------------------------------------------------------------------------

    def _connection(self, channel: Channel, arrival: Arrival) -> None:
        try:
            self.conversation(self, channel, arrival).run()
        except (OSError, ssl.SSLError, TimeoutError) as error:
            if not self.stop.is_set():
                arrival.failure = f"{type(error).__name__}: {error}"
                self.trace(arrival, f"broken: {arrival.failure}")
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            arrival.ended = True
            with self._lock:
                self._open.discard(channel.sock)
            with contextlib.suppress(OSError):
                channel.sock.close()

    def next_exchange(self, arrival: Arrival, via: str) -> Exchange:
        with self._lock:
            exchange = Exchange(next(self._numbers), arrival, arrival.exchanges, via)
            arrival.exchanges += 1
            self.exchanges.append(exchange)
            return exchange

    def answer_for(self, exchange: Exchange) -> Answer:
        path = exchange.request.path
        if path in self.script.by_path:
            return self.script.by_path[path]
        return self.script.answers[min(next(self._answered), len(self.script.answers) - 1)]

    def trace(self, arrival: Arrival, text: str) -> None:
        if self._trace is not None:
            self._trace(f"{time.monotonic_ns() / 1e6:.3f} ms  c{arrival.index}  {text}")

    # -- ending -------------------------------------------------------------------------------------------

    def settle(self, seconds: float = 0.5) -> None:
        """Wait until no request is half done or unanswered, at most so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if all(exchange.answered_ns or exchange.arrival.ended for exchange in list(self.exchanges)):
                return
            time.sleep(0.002)

    def close(self) -> None:
        self.stop.set()
        for timer in self.timers:
            timer.cancel()
        with self._lock:
            waiting = [*self._listeners, *self._open]
            for sock in waiting:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for sock in [*self._listeners, *self._fillers]:
            sock.close()
        for thread in self._threads:
            thread.join(timeout=2.0)

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
