"""The server that a command or the tool's own client is pointed at: the tap, which delays its ACKs.

A new connection on Linux is acknowledged at once for a while, and a command that makes one request per connection
would never show its stall. HAProxy delays them, too, so this is what clients meet.
"""

from __future__ import annotations

import itertools

from onewrite_lab.tap import Answer, Exchange, Request, Tap

__all__ = ["Origin", "authority", "is_http2", "longest_gap_ns"]


def authority(host: str, port: object) -> str:
    """Host and port as they stand in a URL: an IPv6 address in brackets (RFC 3986, 3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _answer(then: str, *headers: list[str]) -> Answer:
    return Answer(headers=[["Content-Type", "text/plain"], *headers], body={"text": "ok\n"}, then=then)


KEEP = _answer("keep")
KEEP_1_0 = _answer("keep", ["Connection", "keep-alive"])
CLOSE = _answer("close", ["Connection", "close"])


def is_http2(request: Request) -> bool:
    """True for the preface of HTTP/2 (RFC 9113, 3.4)."""
    return request.head.startswith(b"PRI * HTTP/2")


def longest_gap_ns(exchange: Exchange) -> int:
    """The longest silence between two pieces of a request."""
    times = [t_ns for t_ns, _ in exchange.reads]
    return max((after - before for before, after in itertools.pairwise(times)), default=0)


class Origin(Tap):
    """A server, plain or TLS, on a port of the kernel's choice. It ends a connection when the client wants that."""

    def __init__(self, scheme: str) -> None:
        super().__init__(scheme=scheme, delay_acks=True)
        self.url = f"{self.base}/"

    def answer_for(self, exchange: Exchange) -> Answer:
        """RFC 9112, 9.3."""
        request = exchange.request
        options = ",".join(request.values("connection")).lower()
        if "close" in options or is_http2(request):
            return CLOSE
        if request.head.partition(b"\r\n")[0].endswith(b"HTTP/1.0"):
            return KEEP_1_0 if "keep-alive" in options else CLOSE
        return KEEP
