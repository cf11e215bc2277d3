"""One plain connection to the checking proxy: the tap counts each request, and this answers it or forwards it."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import time
from collections import Counter

from onewrite_lab.tap import Answer, Arrival, Channel, Exchange

from onewrite_cli.check.watched import Watched, WatchedOrigin
from onewrite_cli.common.origin import authority
from onewrite_cli.common.response import begin_response

__all__ = ["BAD_REQUEST", "Forwarded", "first_bytes", "host_and_port"]

IDLE_S = 60.0
CONNECT_S = 60.0
ANSWER_S = 86_400.0  # the client has its own patience
HOP_BY_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"trailer", b"upgrade"}
NEVER_A_BODY = (204, 304)
OLD = b" HTTP/1.0"
REQUEST_LINE = re.compile(rb"([^ ]+) http://([^/?# ]+)(.*) (HTTP/1\.[01])", re.I | re.S)
FIELD = re.compile(rb"\r\n(?![ \t])")  # a field ends here, and not in a folded one (RFC 9112, 5.2)
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
                target = found[3] if found[3].startswith(b"/") else b"/" + found[3]
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
                response, _ = begin_response(upstream, request.method, time.monotonic() + ANSWER_S)
                self._forwarded[named] += 1
                exchange.answer_ns = time.monotonic_ns()
                return self._relay(request.method, response, connection_headers, old=head.endswith(OLD, 0, head.find(b"\r\n")))
        except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a name that IDNA does not take
            self._unreachable.append(f"{named}: {error}")
            if exchange.answer_ns:  # in the middle of the answer
                return False
            # The connection stays: closing it would make the client open a new one, which is not the client's fault.
            text = f"onewrite check could not reach {named}: {error}\n".encode()
            headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))]
            self._send_head(502, "Bad Gateway", headers + connection_headers, text)
        return True

    def _relay(
        self, method: str, response: http.client.HTTPResponse, connection_headers: list[tuple[str, str]], *, old: bool
    ) -> bool:
        """Pass the answer on as it comes; chunked when its length is not known beforehand. False when it ends early.

        An `old` client, of HTTP/1.0, gets it until the connection ends.
        """
        headers = [(name, value) for name, value in response.getheaders() if name.lower().encode("latin-1") not in HOP_BY_HOP]
        bodiless = method == "HEAD" or response.status in NEVER_A_BODY
        endless = response.length is None and not bodiless
        chunked = endless and not old
        if endless:
            headers = [(n, v) for n, v in headers if n.lower() != "transfer-encoding"]
        if chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        self._send_head(response.status, response.reason, headers + connection_headers)
        while not bodiless and (data := response.read1(65536)):
            self.channel.send(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        if chunked:
            self.channel.send(b"0\r\n\r\n")
        return bodiless or (chunked if endless else not response.length)

    def _send_head(self, status: int, reason: str, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
        self.channel.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)


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
