"""The server that a command or the tool's own client is pointed at: the tap, which delays its ACKs.

A new connection on Linux is acknowledged at once for a while, and a command that makes one request per connection
would never show its stall. HAProxy delays them, too, so this is what clients meet.
"""

from __future__ import annotations

from onewrite_lab.tap import Answer, Exchange, Request, Tap

__all__ = ["Origin", "is_http2"]


def _answer(then: str, *headers: list[str]) -> Answer:
    return Answer(headers=[["Content-Type", "text/plain"], *headers], body={"text": "ok\n"}, then=then)


KEEP = _answer("keep")
KEEP_1_0 = _answer("keep", ["Connection", "keep-alive"])
CLOSE = _answer("close", ["Connection", "close"])


def is_http2(request: Request) -> bool:
    """True for the preface of HTTP/2 (RFC 9113, 3.4)."""
    return request.head.startswith(b"PRI * HTTP/2")


class Origin(Tap):
    """A server, plain or TLS; port 0 is one of the kernel's choice. It ends a connection when the client wants that."""

    def __init__(self, scheme: str, port: int = 0) -> None:
        super().__init__(scheme=scheme, delay_acks=True, port=port)
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
