"""One request while a pool handles it: what its stream holds, and its timing.

The backend shows when a connection is made, its stream when TLS begins and when bytes leave and come. Nothing shows how
long a request waited for a free connection, nor how much of connecting was DNS.
"""

from __future__ import annotations

import contextvars
import re
import typing

from .._front import put
from .._timing.connection import Connection
from .._timing.hooks import Hooks
from .._timing.record import Call, begin, now
from . import base

if typing.TYPE_CHECKING:  # httpcore2 has the same interface
    import httpcore

#: The end of a head, as h11 reads it.
_END_OF_HEAD = re.compile(rb"\n\r?\n").search
_INTERIM = re.compile(rb"HTTP/1\.[0-9] 1(?!01)[0-9][0-9]").match


class Exchange:
    """A request under way."""

    __slots__ = ("_begins", "_expects_ns", "_host", "_received", "call", "held", "limit", "size", "stream", "timeout")

    def __init__(
        self, request: httpcore.Request, limit: int, hooks: Hooks | None, known: base.Streams, proxy: str | None
    ) -> None:
        #: The pieces that wait for the rest; None where nothing is held.
        self.held: list[bytes] | None = [] if limit and base.body_at_hand(request.stream, known) else None
        self.size = 0
        self.limit = limit
        self.timeout: float | None = None
        #: The stream that the head was written to.
        self.stream: typing.Any = None
        #: How the head begins. A tunnel's CONNECT and the frames of HTTP/2 begin otherwise.
        self._begins = request.method + b" "
        self.call: Call | None = None
        if hooks is not None:
            url = request.url
            sni = request.extensions.get("sni_hostname") if isinstance(request.extensions, dict) else None
            #: Server name of the TLS handshake with the origin; None without TLS.
            self._host = (sni or url.host.decode("latin-1")) if url.scheme in (b"https", b"wss") else None
            self._received = b""
            self._expects_ns = 0
            self.call = begin(hooks, request.method.decode("latin-1"), _url(url), None)
            self.call.proxy = proxy

    # -- connecting -----------------------------------------------------------------------------------

    def connecting(self, peer: str) -> None:
        """The handshake with *peer* begins."""
        if self.call is not None and "connect" not in (self.call.steps or {}):
            self.call.step_start("connect", peer=peer)

    def connected(self) -> None:
        """The handshake is complete. With TLS, what a proxy is asked for until then is connecting, too."""
        if self.call is not None and self._host is None:
            self.call.step_end("connect")

    def tls_starts(self, server_name: str | None) -> None:
        """A TLS handshake with *server_name*, the origin or a proxy, begins."""
        if self.call is not None and server_name == self._host and "tls" not in (self.call.steps or {}):
            self.call.step_end("connect")
            self.call.step_start("tls")

    def tls_ends(self) -> None:
        """A TLS handshake is complete."""
        if self.call is not None:
            self.call.step_end("tls")

    # -- sending --------------------------------------------------------------------------------------

    def due(self, stream: typing.Any, data: bytes, timeout: float | None) -> tuple[bytes | memoryview, ...]:
        """Return what to write to *stream* now, of the pieces that are held and of *data*."""
        if self.stream is None:
            if not data.startswith(self._begins) or not data.endswith(b"\r\n\r\n"):
                return (data,)
            self.stream = stream
            if self.call is not None:
                connection: Connection = stream.connection
                if connection.sock is None:
                    connection.sock = stream.get_extra_info("socket")
                self.call.step_end("connect")
                self.call.acquired(connection, connection.requests > 0)
            if b"\nexpect:" in data.lower():
                self.held = None
        held = self.held
        if held is None or self.stream is not stream:
            return (data,)
        self.timeout = timeout
        if type(data) is not bytes:
            data = bytes(data)  # the caller may fill it again
        if self.size + len(data) <= self.limit:
            held.append(data)
            self.size += len(data)
            return ()
        self.held = None
        waiting = b"".join(held)
        view = memoryview(data)
        room = self.limit - len(waiting)
        return (waiting + view[:room], view[room:])

    def overdue(self, stream: typing.Any) -> bytes:
        """Return what *stream* still holds: the client reads, or closes. Nothing is held from here on."""
        held = self.held
        if not held or self.stream is not stream:
            return b""
        self.held = None
        return b"".join(held)

    def timing(self, stream: typing.Any) -> Call | None:
        """Return the call, if *stream* carries its request."""
        return self.call if self.call is not None and self.stream is stream and not self.call.ended_at_mono_ns else None

    # -- receiving ------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """*data* was read; interim answers come before the final one (RFC 9110, 15.2)."""
        call = self.call
        if call is None or call.response_start or not data:
            return
        t_ns = self._expects_ns or now()
        head = self._received + data
        while _INTERIM(head):
            end = _END_OF_HEAD(head)
            if end is None:
                break
            call.informational(int(head[9:12]))
            head, t_ns = head[end.end() :], now()
        else:
            if len(head) >= 12:
                call.response_began(t_ns)
                return
        self._received = head
        self._expects_ns = t_ns if head else 0

    # -- the end --------------------------------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """The pool raised *error*."""
        if self.call is not None:
            if type(error).__name__ == "PoolTimeout":
                self.call.phase = "queue"
            self.call.connect_failed(error)
            self.call.end(error)

    def answered(self, request: httpcore.Request, response: typing.Any, body: type, reads: str) -> None:
        """The head of the final answer is complete. The call ends with the reader of the body, which calls *reads*."""
        call = self.call
        if call is None:
            return
        call.headers_read(response.status)
        if _without_body(request, response):
            call.body_read(call.headers_end, 0)
        call.returned = True
        stream = response.stream
        if hasattr(stream, reads) and put(body, stream):
            stream._onewrite = call
        else:
            call.end()


def _without_body(request: httpcore.Request, response: typing.Any) -> bool:
    """Return whether the answer ends with its head (RFC 9112, 6.3)."""
    if request.method == b"HEAD" or response.status in (204, 304):
        return True
    return any(name.lower() == b"content-length" and value == b"0" for name, value in response.headers)


def _url(url: httpcore.URL) -> str:
    host = url.host.decode("latin-1")
    port = f":{url.port}" if url.port else ""
    return (
        f"{url.scheme.decode('latin-1')}://{f'[{host}]' if ':' in host else host}{port}{url.target.decode('latin-1')}"
    )


#: Set while a pool handles a request: httpcore writes in the thread or task that called it.
current: contextvars.ContextVar[Exchange | None] = contextvars.ContextVar("onewrite_exchange", default=None)
