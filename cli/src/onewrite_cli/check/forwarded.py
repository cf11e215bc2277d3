"""One plain connection to the checking proxy: the tap counts each request, and this answers it or forwards it."""

from __future__ import annotations

import http.client
import socket
import time
from collections import Counter
from urllib.parse import SplitResult, urlsplit

from onewrite_lab.tap import Answer, Arrival, Channel, Conversation, Exchange, Tap

from onewrite_cli.common.origin import authority

__all__ = ["Forwarded", "first_bytes"]

IDLE_S = 60.0
UPSTREAM_S = 60.0
HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade"}
NEVER_A_BODY = (204, 304)
NO_URL = b"this is the proxy of onewrite check: it takes absolute http URLs and CONNECT\n"


class Forwarded(Conversation):
    """Requests in absolute form (RFC 9112, 3.2.2). Those to `own_name` are answered here, all others upstream."""

    def __init__(
        self, tap: Tap, channel: Channel, arrival: Arrival, own_name: str, forwarded: Counter[str], unreachable: list[str]
    ) -> None:
        super().__init__(tap, channel, arrival)
        self._own_name, self._forwarded, self._unreachable = own_name, forwarded, unreachable

    def respond(self, exchange: Exchange, answer: Answer) -> bool:
        """Answer or forward; False when the connection broke. Of `answer` only what says whether it goes on is used."""
        url = urlsplit(exchange.request.target)
        if url.hostname == self._own_name:
            return super().respond(exchange, answer)
        connection_headers = [(name, value) for name, value in answer.headers if name == "Connection"]
        try:
            if url.scheme == "http" and url.hostname:
                return self._forward(exchange, url, connection_headers)
            self._say(400, NO_URL, [("Connection", "close")])
            return False
        finally:
            exchange.answered_ns = time.monotonic_ns()

    def _forward(self, exchange: Exchange, url: SplitResult, connection_headers: list[tuple[str, str]]) -> bool:
        request, where = exchange.request, authority(url.hostname or "", url.port or 80)
        connection = http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=UPSTREAM_S)
        try:
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            connection.putrequest(request.method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.endheaders(bytes(request.body_wire) or None)
            response = connection.getresponse()
            self._forwarded[where] += 1
            exchange.answer_ns = time.monotonic_ns()
            return self._relay(request.method, response, connection_headers)
        except (OSError, http.client.HTTPException) as error:
            self._unreachable.append(f"{where}: {error}")
            if exchange.answer_ns:  # in the middle of the answer
                return False
            # The connection stays: closing it would make the client open a new one, which is not the client's fault.
            self._say(502, f"onewrite check could not reach {where}: {error}\n".encode(), connection_headers)
        finally:
            connection.close()
        return True

    def _relay(self, method: str, response: http.client.HTTPResponse, connection_headers: list[tuple[str, str]]) -> bool:
        """Pass the answer on as it comes; chunked when its length is not known beforehand. False when it ends early."""
        headers = [(name, value) for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP]
        bodiless = method == "HEAD" or response.status in NEVER_A_BODY
        chunked = response.length is None and not bodiless
        if chunked:
            headers = [(n, v) for n, v in headers if n.lower() != "transfer-encoding"] + [("Transfer-Encoding", "chunked")]
        self._send_head(response.status, response.reason, headers + connection_headers)
        while not bodiless and (data := response.read1(65536)):
            self.channel.send(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        if chunked:
            self.channel.send(b"0\r\n\r\n")
        return not response.length or bodiless

    def _say(self, status: int, text: bytes, connection_headers: list[tuple[str, str]]) -> None:
        headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))]
        self._send_head(status, http.client.responses[status], headers + connection_headers, text)

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
            if not data or b"\n" in data or len(data) >= enough:
                return data
            time.sleep(0.001)  # half a line: the rest is on its way
        return b""
    finally:
        sock.settimeout(None)
