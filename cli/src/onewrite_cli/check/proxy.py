"""The proxy of an unmodified command: it sees every connection from its first byte, and changes no answer.

Plain requests are counted and passed on as they come, in both directions, each client connection on a connection of its own:
a login may belong to it, and an answer may come before the request is whole. A proxy that the user's environment names is gone
through. CONNECT to the tool's own name ends in the tap, which decrypts it; any other tunnel is passed on undecrypted.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
import time
from collections import Counter
from urllib.parse import SplitResult

from onewrite_lab.probe import authority
from onewrite_lab.tap import Answer, Arrival, Channel, Exchange, RequestParser
from onewrite_lab.tap.channel import Piece

from onewrite_cli.check.watched import OWN_NAME, Watched, WatchedOrigin
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.proxies import credentials, port_of, proxy_for
from onewrite_cli.common.sockets import Sockets

__all__ = ["Proxy"]

CONNECT_S = IDLE_S = 60.0
PIECE = 1 << 16
PASSED_ON = Answer(continue_=False)  # the upstream answers, also 100 (Continue)
DROPPED = {b"proxy-connection", b"proxy-authorization", b"upgrade"}  # an upgrade would end HTTP/1.1 in the middle
CONNECT_TO = re.compile(rb"CONNECT +(\S+) ")
REQUEST_LINE = re.compile(rb"([^ ]+) http://([^/?# ]+)(.*) (HTTP/1\.[01])", re.I | re.S)
FIELD = re.compile(rb"\r\n(?![ \t])")  # a field ends here, and not in a folded one (RFC 9112, 5.2)
AUTHORITY = re.compile(rb"(?:[^@]*@)?(\[[!-Z^-~]+\]|[!-9;-?A-Z^-~]+)(?::([0-9]{0,5}))?")


def _answer_of(status: str, text: str, *fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/plain", f"Content-Length: {len(text) + 1}", *fields]
    return ("\r\n".join(lines) + f"\r\n\r\n{text}\n").encode("latin-1", "replace")


BAD_REQUEST = _answer_of(
    "400 Bad Request", "the proxy of onewrite check takes absolute http URLs and CONNECT", "Connection: close"
)


def _host_and_port(where: bytes, default: int = 0) -> tuple[str, int] | None:
    """Of an authority (RFC 3986, 3.2), without brackets; None where it has none."""
    found = AUTHORITY.fullmatch(where)
    port = int(found[2] or default) if found else 0
    return (found[1].strip(b"[]").decode(), port) if found and 0 < port < 65536 else None


def _connected(scheme: str, host: str, port: int) -> tuple[socket.socket, SplitResult | None]:
    """To the host, or to the proxy that the environment names for it. Raises OSError, ValueError, CouldNotRun."""
    via = proxy_for(scheme, host, port)
    place = (via.hostname or "", port_of(via)) if via else (host, port)
    upstream = socket.create_connection(place, timeout=CONNECT_S)
    upstream.settimeout(None)
    upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return upstream, via


class Proxy(WatchedOrigin):
    """The plain origin of a check, and a proxy. `secure` serves tunnels to the tool's own name."""

    def __init__(self, secure: Origin, sockets: Sockets) -> None:
        self._secure = secure
        self.tunnels: list[tuple[str, Arrival]] = []  # not decrypted, by the service
        self.forwarded: Counter[str] = Counter()  # plain requests by the service that got them
        self.unreachable: list[str] = []
        self.direct: set[int] = set()  # connections to hosts for which the environment names no proxy, by Arrival.index
        self.upstreams: set[socket.socket] = set()
        super().__init__("http", sockets)

    def answer_for(self, exchange: Exchange) -> Answer:
        return super().answer_for(exchange) if _is_own(exchange) else PASSED_ON

    def connect(self, scheme: str, host: str, port: int, arrival: Arrival) -> tuple[socket.socket, SplitResult | None] | str:
        """The upstream connection, or why there is none."""
        try:
            made = _connected(scheme, host, port)
        except (OSError, ValueError, CouldNotRun) as error:  # ValueError: a name that IDNA does not take
            self.unreachable.append(f"{authority(host, port)}: {error}")
            return f"onewrite check could not reach {self.unreachable[-1]}"
        if made[1] is None:
            self.direct.add(arrival.index)
        self.upstreams.add(made[0])
        return made

    def close(self) -> None:
        for upstream in list(self.upstreams):
            with contextlib.suppress(OSError):
                upstream.shutdown(socket.SHUT_RDWR)
        super().close()

    def _connection(self, channel: Channel, arrival: Arrival) -> None:
        with channel.sock, contextlib.suppress(OSError, ssl.SSLError):
            try:
                self._serve(channel, arrival)
            except (OSError, ssl.SSLError):
                raise
            except Exception as error:  # a fault of the tool: the client hears of it, and so does the user
                arrival.failure = f"{type(error).__name__}: {error}, in the tool's proxy"
                channel.send(_answer_of("500 Internal Server Error", "onewrite check failed", "Connection: close"))
        arrival.ended = True

    def _serve(self, channel: Channel, arrival: Arrival) -> None:
        start = _first_line(channel.sock)
        line, end, _ = start.partition(b"\n")
        bare = end and not line.endswith(b"\r")
        if start[:1].isalpha() and not start.startswith(b"CONNECT ") and not bare:
            Forwarded(self, channel, arrival).run()
            return
        found = None if bare else CONNECT_TO.match(start)
        where = _host_and_port(found[1]) if found else None
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
        conversation = Watched(self, channel, arrival)
        conversation.read_nodelay()
        made = self.connect("https", host, port, arrival)
        if isinstance(made, str):
            channel.send(_answer_of("502 Bad Gateway", made, "Connection: close"))
            return
        upstream, via = made
        self.tunnels.append((authority(host, port), arrival))
        with upstream:
            channel.sock.settimeout(None)
            if via is None:
                channel.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                behind = _for_proxy(parser.request.head, via) + behind
            back = threading.Thread(target=_pass_on, args=(upstream, channel.sock), daemon=True)
            back.start()
            _pass_on(channel.sock, upstream, behind)
            back.join()


class Forwarded(Watched):
    """Requests in absolute form (RFC 9112, 3.2.2). Those to the tool's own name are answered here, all others upstream."""

    def __init__(self, tap: Proxy, channel: Channel, arrival: Arrival) -> None:
        super().__init__(tap, channel, arrival)
        self._proxy = tap
        self._upstreams: dict[tuple[str, int], tuple[socket.socket, SplitResult | None]] = {}
        self._pumps: list[threading.Thread] = []
        self._now: tuple[Exchange, socket.socket | None] | None = None  # the request that is passed on, and where to
        self._failure = b""  # the answer where there is no upstream

    def run(self) -> None:
        try:
            super().run()
        finally:
            for upstream, _ in list(self._upstreams.values()):
                with contextlib.suppress(OSError):
                    upstream.shutdown(socket.SHUT_WR)
            for pump in self._pumps:  # a client may end its side and still read
                pump.join(IDLE_S)

    def _receive(self) -> Piece | None:
        if self.exchange is not None and self.exchange.request.head and not _is_own(self.exchange):
            self._pass(self.exchange)
        return super()._receive()

    def respond(self, exchange: Exchange, answer: Answer) -> bool:
        """Answer, or pass the rest of the request on; False when the connection broke."""
        if _is_own(exchange):
            return super().respond(exchange, answer)
        self.read_nodelay()
        self._pass(exchange)
        if self._failure:
            exchange.answered_ns = time.monotonic_ns()
            self.channel.send(self._failure)
            # The connection stays: closing it would make the client open a new one, which is not the client's fault.
            return self._failure is not BAD_REQUEST
        return True

    def _pass(self, exchange: Exchange) -> None:
        """What has come of the request since the last time, upstream."""
        request = exchange.request
        data = b""
        if self._now is None or self._now[0] is not exchange:
            self._failure, self._now = b"", (exchange, None)
            upstream, data = self._begun(exchange)
            self._now = exchange, upstream
        upstream = self._now[1]
        data += bytes(request.body_wire)
        request.forget_body()
        if upstream is not None and data:
            with contextlib.suppress(OSError):  # an early answer may have come, and ended the connection
                upstream.sendall(data)

    def _begun(self, exchange: Exchange) -> tuple[socket.socket | None, bytes]:
        """The upstream of a request, and its head as it goes there."""
        line, _, headers = exchange.request.head.partition(b"\r\n")
        found = REQUEST_LINE.fullmatch(line)
        where = _host_and_port(found[2], 80) if found else None
        if not (found and where):
            self._failure = BAD_REQUEST
            return None, b""
        made = self._upstreams.get(where)
        if made is None:
            new = self._proxy.connect("http", *where, self.arrival)
            if isinstance(new, str):
                self._failure = _answer_of("502 Bad Gateway", new)
                return None, b""
            made = self._upstreams[where] = new
            pump = threading.Thread(target=self._pump, args=(made[0],), daemon=True)
            self._pumps.append(pump)
            pump.start()
        self._proxy.forwarded[authority(*where)] += 1
        upstream, via = made
        if via is not None:
            return upstream, _for_proxy(exchange.request.head, via)
        empty = b"*" if found[1] == b"OPTIONS" and not found[3] else b"/"  # RFC 9112, 3.2.4
        target = found[3] if found[3].startswith(b"/") else empty + found[3]
        kept = [one for one in FIELD.split(headers) if one.partition(b":")[0].lower() not in DROPPED]
        return upstream, b"\r\n".join([b"%s %s %s" % (found[1], target, found[4]), *kept])

    def _pump(self, upstream: socket.socket) -> None:
        """What an upstream says, to the client, as it comes; its end is the client's, if the last request went there."""
        with upstream, contextlib.suppress(OSError):
            while data := upstream.recv(PIECE):
                now = self._now
                if now is not None:
                    now[0].answer_ns = now[0].answer_ns or time.monotonic_ns()
                self.channel.send(data)
                if now is not None:
                    now[0].answered_ns = time.monotonic_ns()
        self._proxy.upstreams.discard(upstream)
        where = next((where for where, made in list(self._upstreams.items()) if made[0] is upstream), None)
        if where is not None:
            del self._upstreams[where]
        if self._now is not None and self._now[1] is upstream:
            with contextlib.suppress(OSError):
                self.channel.sock.shutdown(socket.SHUT_WR)


def _is_own(exchange: Exchange) -> bool:
    """True for a request to the tool's own name, or within a tunnel to it."""
    found = REQUEST_LINE.fullmatch(exchange.request.head.partition(b"\r\n")[0])
    where = _host_and_port(found[2], 80) if found else None
    return exchange.arrival.via == "connect" or (where is not None and where[0].lower() == OWN_NAME)


def _for_proxy(head: bytes, via: SplitResult) -> bytes:
    """The head as the user's proxy gets it: with the credentials of its URL, unless the client has some of its own."""
    said = credentials(via)
    line, _, headers = head.partition(b"\r\n")
    if said is None or any(one.lower().startswith(b"proxy-authorization:") for one in FIELD.split(headers)):
        return head
    return b"%s\r\nProxy-Authorization: %s\r\n%s" % (line, said.encode(), headers)


def _first_line(sock: socket.socket, enough: int = 8192) -> bytes:
    """Peek at the received bytes as soon as they hold a whole line; they stay in the socket. Raises OSError."""
    deadline = time.monotonic() + IDLE_S
    sock.settimeout(IDLE_S)
    try:
        while time.monotonic() < deadline:
            data = sock.recv(enough, socket.MSG_PEEK)
            if not data[:1].isalpha() or b"\n" in data or len(data) >= enough:
                return data
            time.sleep(0.001)  # half a line: the rest is on its way
        return b""
    finally:
        sock.settimeout(None)


def _pass_on(source: socket.socket, to: socket.socket, first: bytes = b"") -> None:
    """All bytes of one direction, and its end."""
    with contextlib.suppress(OSError):
        to.sendall(first)
        while data := source.recv(PIECE):
            to.sendall(data)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_WR)
