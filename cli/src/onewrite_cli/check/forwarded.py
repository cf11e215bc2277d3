"""One plain connection to the checking proxy: counts each request, then answers it or forwards it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from onewrite_lab.tap import Arrival, Channel, Exchange, Request, RequestParser, Tap

from onewrite_cli.common.origin import authority

__all__ = ["Forwarded", "first_bytes"]

IDLE_S = 60.0
UPSTREAM_S = 60.0
HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade"}
NEVER_A_BODY = (204, 304)


class Forwarded:
    """Requests in absolute form (RFC 9112, 3.2.2). Those to `own_name` are answered here, all others upstream."""

    def __init__(
        self, tap: Tap, channel: Channel, arrival: Arrival, own_name: str, forwarded: Counter[str], unreachable: list[str]
    ) -> None:
        self._tap, self._channel, self._arrival = tap, channel, arrival
        self._own_name, self._forwarded, self._unreachable = own_name, forwarded, unreachable
        self._carry = b""
        self._baseline: int | None = 0

    def run(self, on_request: Callable[[Exchange], None]) -> None:
        """Until the client closes. Raises OSError when a side breaks."""
        while True:
            exchange = self._next_request()
            if exchange is None:
                return
            on_request(exchange)
            goes_on = self._answer(exchange)
            exchange.answered_ns = time.monotonic_ns()
            exchange.answer_ns = exchange.answer_ns or exchange.answered_ns
            if not goes_on:
                return

    def _next_request(self) -> Exchange | None:
        parser = RequestParser()
        exchange: Exchange | None = None
        while not parser.done:
            if self._carry:
                data, at_ns, self._carry = self._carry, time.monotonic_ns(), b""
            else:
                piece = self._channel.receive(IDLE_S)
                if piece is None or not piece.data:
                    return None
                data, at_ns = piece.data, piece.t_ns
            if exchange is None:
                exchange = self._tap.next_exchange(self._arrival, "forward")
                exchange.request, exchange.first_ns = parser.request, at_ns
            exchange.reads.append((at_ns, len(data)))
            waited = parser.head_done
            self._carry = parser.feed(data)
            if parser.head_done and not waited and parser.request.expects_continue and not parser.done:
                self._channel.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert exchange is not None
        self._count(exchange)
        return exchange

    def _count(self, exchange: Exchange) -> None:
        """The count is taken when the request is whole and before it is answered: the next one cannot be in it."""
        exchange.complete, exchange.complete_ns = True, time.monotonic_ns()
        info = self._channel.info()
        whole = info is not None and self._channel.consumed_all(info)
        if info is not None and whole and self._baseline is not None:
            exchange.segments = info.data_segs_in - self._baseline
        self._baseline = info.data_segs_in if info is not None and whole else None

    def _answer(self, exchange: Exchange) -> bool:
        """Answer or forward; True when the connection goes on."""
        request = exchange.request
        url = urlsplit(request.target)
        keep = "close" not in ",".join(request.values("connection") + request.values("proxy-connection")).lower()
        if url.scheme != "http" or not url.hostname:
            body = b"this is the proxy of onewrite check: it takes absolute http URLs and CONNECT\n"
            self._send(400, [("Content-Type", "text/plain")], body, keep=False)
            return False
        if url.hostname == self._own_name:
            self._send(200, [("Content-Type", "text/plain")], b"" if request.method == "HEAD" else b"ok\n", keep=keep)
            return keep
        return self._upstream(exchange, url.hostname, url.port or 80, keep=keep)

    def _upstream(self, exchange: Exchange, host: str, port: int, *, keep: bool) -> bool:
        request = exchange.request
        url = urlsplit(request.target)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection = http.client.HTTPConnection(host, port, timeout=UPSTREAM_S)
        try:
            connection.putrequest(request.method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.endheaders(bytes(request.body_wire) or None)
            response = connection.getresponse()
            self._forwarded[authority(host, port)] += 1
            exchange.answer_ns = time.monotonic_ns()
            return self._relay(request, response, keep=keep)
        except (OSError, http.client.HTTPException) as error:
            self._unreachable.append(f"{authority(host, port)}: {error}")
            if exchange.answer_ns:  # in the middle of the answer
                return False
            # The connection stays: closing it would make the client open a new one, which is not the client's fault.
            with contextlib.suppress(OSError):
                body = f"onewrite check could not reach {authority(host, port)}: {error}\n".encode()
                self._send(502, [("Content-Type", "text/plain")], body, keep=keep)
            return keep
        finally:
            connection.close()

    def _relay(self, request: Request, response: http.client.HTTPResponse, *, keep: bool) -> bool:
        """Pass the answer on as it comes; chunked when its length is not known beforehand."""
        headers = [(name, value) for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP]
        bodiless = request.method == "HEAD" or response.status in NEVER_A_BODY
        chunked = response.length is None and not bodiless
        if chunked:
            headers = [(n, v) for n, v in headers if n.lower() != "transfer-encoding"] + [("Transfer-Encoding", "chunked")]
        lines = [f"HTTP/1.1 {response.status} {response.reason}", *(f"{name}: {value}" for name, value in headers)]
        if not keep:
            lines.append("Connection: close")
        self._channel.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        while not bodiless and (data := response.read1(65536)):
            self._channel.send(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        if chunked:
            self._channel.send(b"0\r\n\r\n")
        return keep

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes, *, keep: bool) -> None:
        reason = http.client.responses.get(status, "")
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
        lines += [f"Content-Length: {len(body)}", *([] if keep else ["Connection: close"])]
        self._channel.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)


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
