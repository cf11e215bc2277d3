"""One request, from the pool's ``handle_request`` to the end of its response, and its timing.

httpcore's trace extension says when a connection is made and TLS begins; the stream says when bytes leave and come.
Nothing says how long a request waited for a free connection, nor how much of connecting was DNS.
"""

from __future__ import annotations

import contextvars
import sys
import typing

from .._errors import kind_of
from .._timing.attempt import now
from .._timing.call import LiveCall
from .._timing.hooks import Hooks

if typing.TYPE_CHECKING:  # httpcore2 has the same interface
    import httpcore

    from .stream import _HoldingStream


class Exchange:
    """A request under way."""

    __slots__ = ("attempt", "call", "first_ns", "host", "interim", "may_wait", "opening", "stream", "wrong")

    def __init__(self, request: httpcore.Request, may_wait: bool, hooks: Hooks | None, wrong: str = "") -> None:
        #: Why it must not be sent, though h11 would send it; "" if it may.
        self.wrong = wrong
        #: How its head begins; a tunnel's CONNECT and the frames of HTTP/2 begin otherwise.
        self.opening: bytes = request.method + b" "
        #: Whether its body is at hand.
        self.may_wait = may_wait
        #: The stream its head was written to.
        self.stream: _HoldingStream | None = None
        self.attempt: typing.Any = None
        if hooks is not None:
            secure = request.url.scheme in (b"https", b"wss")
            #: Server name of the TLS handshake with the origin; None without TLS.
            self.host = (
                (request.extensions.get("sni_hostname") or request.url.host.decode("ascii")) if secure else None
            )
            self.interim = b""
            #: When the first byte of what is in ``interim`` was read.
            self.first_ns = 0
            self.call = LiveCall(hooks, request.method.decode("ascii"), _url(request.url))
            self.call.start()
            self.call.begin_attempt()
            self.attempt = self.call.last

    def check(self, request: httpcore.Request) -> None:
        """Raise httpcore's LocalProtocolError for a request that must not be sent."""
        if self.wrong:
            raise sys.modules[type(request).__module__].LocalProtocolError(self.wrong)

    def trace(self, name: str, info: dict[str, typing.Any]) -> None:
        """Take an event of httpcore's trace extension."""
        attempt = self.attempt
        what, _, stage = name.partition(".")[2].partition(".")
        if what in ("connect_tcp", "connect_unix_socket"):
            if stage == "started" and "connect_start" not in attempt.at:
                attempt.step_start("connect")
            elif stage == "complete" and self.host is None:
                attempt.step_end("connect")
        elif what == "start_tls" and stage == "started" and info["server_hostname"] == self.host:
            if "tls_start" not in attempt.at:
                attempt.step_end("connect")  # with the tunnel, and the TLS of a proxy before it
                attempt.step_start("tls")
        elif what == "start_tls" and stage == "complete":
            attempt.step_end("tls")

    def acquired(self, stream: _HoldingStream) -> None:
        """The head is about to be written to *stream*."""
        self.stream = stream
        if self.attempt is not None:
            connection = stream.connection
            if connection.sock is None:
                connection.sock = stream.get_extra_info("socket")
            self.attempt.acquired(connection, connection.requests > 0)

    def sending(self) -> None:
        """Some bytes are about to be written."""
        if "request_start" not in self.attempt.at:
            self.attempt.request_start()

    def sent(self, size: int, last: bool) -> None:
        """*size* bytes were written; *last*: they end the request."""
        self.attempt.writes += 1
        self.attempt.bytes_sent += size
        if last:
            self.attempt.request_end()

    def awaiting(self) -> None:
        """The client begins to read: nothing more is written."""
        self.attempt.request_end()

    def received(self, data: bytes) -> None:
        """*data* was read."""
        attempt = self.attempt
        if "response_start" in attempt.at or not data:
            return
        t_ns = self.first_ns or now()
        # Interim answers come before the final one (RFC 9110, 15.2); after 101 another protocol begins.
        head = self.interim + data
        while head[9:10] == b"1" and head[9:12].isdigit() and head[9:12] != b"101":
            end = head.find(b"\r\n\r\n")
            if end < 0:
                break
            attempt.informational(int(head[9:12]))
            head, t_ns = head[end + 4 :], now()
        else:
            if len(head) >= 12:
                attempt.response_start(t_ns)
                return
        self.interim = head
        self.first_ns = t_ns if head else 0

    def answered(self, response: httpcore.Response) -> None:
        """The head of the final answer is complete."""
        fields = [value.decode("latin-1") for name, value in response.headers if name.lower() == b"server-timing"]
        self.attempt.headers_end(response.status, fields)
        self.call.answered()

    def read(self, size: int) -> None:
        """The body was read to its end."""
        self.attempt.response_end(now(), size)

    def released(self) -> None:
        """The response was closed."""
        attempt = self.attempt
        connection = attempt.connection
        if connection is not None:
            connection.idle_since = now()
            reusable = "response_end" in attempt.at and getattr(connection.sock, "fileno", int)() >= 0
            attempt.end("ok", reusable, connection.idle_since)

    def failed(self, error: BaseException) -> None:
        """The request failed, or reading its response did."""
        attempt = self.attempt
        if kind_of(error) == "invalid_request":
            attempt.phase = "send"  # refused before it could be written
        attempt.connect_failed(error)
        if self.call.returned:
            attempt.error = error
            attempt.end("error" if isinstance(error, Exception) else "cancelled")
        else:
            self.call.failed(error)


def _url(url: httpcore.URL) -> str:
    host = url.host.decode("latin-1")
    port = f":{url.port}" if url.port else ""
    return (
        f"{url.scheme.decode('latin-1')}://{f'[{host}]' if ':' in host else host}{port}{url.target.decode('latin-1')}"
    )


#: Set while a pool handles a request: httpcore writes in the thread or task that called it.
current: contextvars.ContextVar[Exchange | None] = contextvars.ContextVar("onewrite_exchange", default=None)
