"""One plain connection to the checking proxy: the tap counts each request, and this answers it or forwards it."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator

from onewrite_lab.tap import Answer, Arrival, Channel, Exchange, RequestParser

from onewrite_cli.check.watched import Watched, WatchedOrigin
from onewrite_cli.common.origin import authority

__all__ = ["BAD_REQUEST", "CONNECT_S", "PIECE", "Forwarded", "first_bytes", "host_and_port"]

IDLE_S = 60.0
CONNECT_S = 60.0
ANSWER_S = 86_400.0  # the client has its own patience
CONNECTION = {b"connection", b"keep-alive", b"proxy-connection"}
HOP_BY_HOP = {*CONNECTION, b"proxy-authorization", b"upgrade"}
NEVER_A_BODY = (b"204", b"304")
OLD = b" HTTP/1.0"
REQUEST_LINE = re.compile(rb"([^ ]+) http://([^/?# ]+)(.*) (HTTP/1\.[01])", re.I | re.S)
FIELD = re.compile(rb"\r\n(?![ \t])")  # a field ends here, and not in a folded one (RFC 9112, 5.2)
HEAD_END = re.compile(rb"\r?\n\r?\n")
STATUS_LINE = re.compile(rb"HTTP/1\.[01]( ([0-9]{3})[^\r\n]*)")
ANSWER_FIELD = re.compile(rb"\r?\n(?![ \t])")  # a head may have bare line feeds (RFC 9112, 2.2)
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE = 1 << 16
AUTHORITY = re.compile(rb"(?:[^@]*@)?(\[[!-Z^-~]+\]|[!-9;-?A-Z^-~]+)(?::([0-9]{0,5}))?")
TEXT = b"this is the proxy of onewrite check: it takes absolute http URLs and CONNECT\n"
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(TEXT), TEXT)


def host_and_port(where: bytes, default: int = 0) -> tuple[str, int] | None:
    """Of an authority (RFC 3986, 3.2), without brackets; None where it has none."""
    found = AUTHORITY.fullmatch(where)
    port = int(found[2] or default) if found else 0
    return (found[1].strip(b"[]").decode(), port) if found and 0 < port < 65536 else None


class Forwarded(Watched):
    """Requests in absolute form (RFC 9112, 3.2.2). Those to `own_name` are answered here, all others upstream."""

    def __init__(
        self,
        tap: WatchedOrigin,
        channel: Channel,
        arrival: Arrival,
        own_name: str,
        forwarded: Counter[str],
        unreachable: list[str],
    ) -> None:
        super().__init__(tap, channel, arrival)
        self._own_name, self._forwarded, self._unreachable = own_name, forwarded, unreachable

    def respond(self, exchange: Exchange, answer: Answer) -> bool:
        """Answer or forward; False when the connection broke. Of `answer` only what says whether it goes on is used."""
        line, _, headers = exchange.request.head.partition(b"\r\n")
        found = REQUEST_LINE.fullmatch(line)
        where = host_and_port(found[2], 80) if found else None
        if where and where[0].lower() == self._own_name:
            return super().respond(exchange, answer)
        connection_headers = [(name, value) for name, value in answer.headers if name == "Connection"]
        try:
            if found and where:
                empty = b"*" if found[1] == b"OPTIONS" and not found[3] else b"/"  # RFC 9112, 3.2.4
                target = found[3] if found[3].startswith(b"/") else empty + found[3]
                kept = [one for one in FIELD.split(headers) if one.partition(b":")[0].lower() not in HOP_BY_HOP]
                head = b"\r\n".join([b"%s %s %s" % (found[1], target, found[4]), *kept])
                return self._forward(exchange, where, head, connection_headers)
            self.channel.send(BAD_REQUEST)
            return False
        finally:
            exchange.answered_ns = time.monotonic_ns()

    def _forward(
        self, exchange: Exchange, where: tuple[str, int], head: bytes, connection_headers: list[tuple[str, str]]
    ) -> bool:
        request, named = exchange.request, authority(*where)
        try:
            with socket.create_connection(where, timeout=CONNECT_S) as upstream:
                with contextlib.suppress(ConnectionError):  # an early answer may have come
                    upstream.sendall(head + request.body_wire)
                upstream.settimeout(ANSWER_S)
                old = head.endswith(OLD, 0, head.find(b"\r\n"))
                answer = _Answer(upstream, lambda interim: None if old else self.channel.send(interim))
                self._forwarded[named] += 1
                exchange.answer_ns = time.monotonic_ns()
                ours = [f"{name}: {value}".encode("latin-1") for name, value in connection_headers]
                return answer.relay(self.channel.send, request.method, ours, old=old)
        except (OSError, ValueError) as error:  # ValueError: a name that IDNA does not take
            if exchange.answer_ns:  # the client or the upstream ended in the middle of the answer
                return False
            self._unreachable.append(f"{named}: {error}")
            # The connection stays: closing it would make the client open a new one, which is not the client's fault.
            text = f"onewrite check could not reach {named}: {error}\n".encode()
            headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text))), *connection_headers]
            lines = ["HTTP/1.1 502 Bad Gateway", *(f"{name}: {value}" for name, value in headers)]
            self.channel.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + text)
        return True


class _Answer:
    """What an upstream sends. Only the fields of the connection to it are replaced; what is no HTTP/1.1 goes as it came."""

    def __init__(self, upstream: socket.socket, interim: Callable[[bytes], None]) -> None:
        """Reads up to the end of the final head. Raises OSError."""
        self._upstream, self._received = upstream, bytearray()
        while True:
            while not (end := HEAD_END.search(self._received)) and (data := upstream.recv(PIECE)):
                self._received += data
            self.line = STATUS_LINE.match(self._received) if end else None
            if not self._received:
                raise ConnectionError("the connection was closed without an answer")
            if not (end and self.line and self.line[2].startswith(b"1") and self.line[2] != b"101"):
                break
            interim(bytes(self._received[: end.end()]))
            del self._received[: end.end()]
        self._head, self._begun = (end.start(), end.end()) if end and self.line else (0, 0)

    def relay(self, send: Callable[[bytes], None], method: str, ours: list[bytes], *, old: bool) -> bool:
        """Pass it on as it comes; chunked where the connection's end is its end. False when it ends early, or so.

        An `old` client, of HTTP/1.0, gets it until the connection ends.
        """
        if self.line is None:
            for data in self._pieces():
                send(data)
            return False
        fields = [one for one in ANSWER_FIELD.split(self._received[self.line.end() : self._head]) if one]
        codings, lengths = (_values(fields, name) for name in (b"transfer-encoding", b"content-length"))
        left: int | None = None
        chunks = None
        if method == "HEAD" or self.line[2] in NEVER_A_BODY:
            left = 0
        elif codings:
            chunks = RequestParser() if codings[-1].endswith(b"chunked") else None
        elif len({*lengths}) == 1 and lengths[0].isdigit():
            left = int(lengths[0])
        to_chunk = left is None and not codings and not lengths and not old
        fields = [one for one in fields if one.partition(b":")[0].lower() not in CONNECTION]
        fields += [*ours, b"Transfer-Encoding: chunked"] if to_chunk else ours
        send(b"\r\n".join([b"HTTP/1.1" + self.line[1], *fields, b"", b""]))
        if chunks:
            chunks.feed(CHUNKED)  # an answer's chunks are those of a request
        for data in self._pieces() if left != 0 else ():
            if left is not None:
                data = data[:left]
                left -= len(data)
            elif chunks:
                data = data[: len(data) - len(chunks.feed(data))]
                for kept in (chunks.request.body, chunks.request.body_wire, chunks.request.chunks):
                    kept.clear()
            send(b"%x\r\n%s\r\n" % (len(data), data) if to_chunk else data)
            if left == 0 or (chunks and chunks.done):
                break
        if to_chunk:
            send(b"0\r\n\r\n")
        return to_chunk or left == 0 or bool(chunks and chunks.done and not chunks.request.problems)

    def _pieces(self) -> Iterator[bytes]:
        data = bytes(self._received[self._begun :]) or self._upstream.recv(PIECE)
        while data:
            yield data
            data = self._upstream.recv(PIECE)


def _values(fields: list[bytes], name: bytes) -> list[bytes]:
    split = (one.partition(b":") for one in fields)
    return [value.strip().lower() for key, _, value in split if key.strip().lower() == name]


def first_bytes(sock: socket.socket, enough: int = 8192) -> bytes:
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
