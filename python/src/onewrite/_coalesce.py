"""Head and body in one write.

http.client and urllib3 write a request by ``send()``: the head, then the body. While ``request()`` runs, ``send()``
keeps the head, which announces a body that is in memory, until the body comes, and writes both at once. Getting such a
body cannot block and runs no code of the caller. Any other head leaves at once, as with urllib3 alone.
"""

from __future__ import annotations

import functools
import io
import time
import typing

from ._link import Link, link_of
from ._nodelay import set_nodelay, set_quickack, tcp_socket
from ._patch import Function
from ._record import Line

#: The most bytes that are joined: the plaintext of one TLS record (RFC 8446, 5.1).
LIMIT = 16384

#: The keywords of ``request`` in urllib3 2 that our wrapper names.
_DEFAULTS = {"chunked": False, "preload_content": True, "decode_content": True, "enforce_content_length": True}

_BUFFERS = frozenset((bytes, bytearray, memoryview))
_PIECES = _BUFFERS | {str}
#: Packages whose sockets accept a view of a body, which saves a copy. A class of the user's may rely on bytes.
_ACCEPT_VIEWS = frozenset(("socket", "ssl", "socks", "gevent", "eventlet", "urllib3"))

#: The connections whose head may be held. uninstall() waits for them.
holding: set[Link] = set()

#: The send() that ours replaces.
_send_below: Function


def _is_in_memory(body: typing.Any) -> bool:
    if type(body) is io.BytesIO:
        return not vars(body)  # with a read() of its own it may do anything
    return type(body) in (list, tuple) and all(type(piece) in _PIECES for piece in body)


def request(stock: Function) -> Function:
    """Wrap ``HTTPConnection.request``: the borders of a request.

    Each keyword of urllib3 2 is named: to pass on ``**options`` would double what a request costs here.
    """

    def request(
        self: typing.Any,
        method: typing.Any,
        url: typing.Any,
        body: typing.Any = None,
        headers: typing.Any = None,
        *,
        chunked: typing.Any = False,
        preload_content: typing.Any = True,
        decode_content: typing.Any = True,
        enforce_content_length: typing.Any = True,
        **others: typing.Any,
    ) -> None:
        call = functools.partial(stock, **others) if others else stock
        link = getattr(self, "_onewrite", None)  # uninstall() may have taken the class's away
        if link is None or link.owner != id(self):
            link = link_of(self)
        record, scope, line = link.record, link.scope, link.line
        if record is None:
            line.idle_since = 0  # nobody records when this request ends
        if line.nodelay is not scope.is_active and self.sock is link.sock is not None:  # open since before install()
            _ensure_nodelay(self, link)
        # A request without a body is one write already.
        hold = (
            body is not None and scope.is_active and link.calls_send and (type(body) in _PIECES or _is_in_memory(body))
        )
        try:
            try:
                if hold:
                    holding.add(link)
                    link.held = b"" if scope.is_active else None  # asked again: see uninstall()
                call(
                    self, method, url, body, headers, chunked=chunked, preload_content=preload_content,
                    decode_content=decode_content, enforce_content_length=enforce_content_length,
                )  # fmt: skip
            finally:
                if hold:
                    held, link.held = link.held, None
                    holding.discard(link)
                    if held:  # also after an error: stock would have sent it by then
                        _write(self, link, held)
        except BaseException as error:
            if record is not None:
                record.write_failed(error)
            raise
        link.is_prepared = False
        line = link.line
        if line.requests is not None:
            line.requests += 1
        if scope.quickack:
            set_quickack(self.sock)

    return request


def request_of_1(stock: Function) -> Function:
    """Wrap ``request`` and ``request_chunked`` of urllib3 1.26, which refuse the keywords of urllib3 2."""

    def call(
        self: typing.Any, method: str, url: str, body: typing.Any, headers: typing.Any, **options: typing.Any
    ) -> None:
        named = {name: value for name, value in options.items() if value is not _DEFAULTS.get(name, options)}
        stock(self, method, url, body, headers, **named)

    return request(call)


def send(stock: Function) -> Function:
    """Wrap ``send``, which urllib3's HTTPConnection inherits from http.client. It sees each new socket first.

    It is not wrapped in http.client, whose other users are none of ours; a tracer may do so at any time.
    """
    global _send_below
    _send_below = stock

    def send(self: typing.Any, data: typing.Any) -> None:
        link = getattr(self, "_onewrite", None) or link_of(self)
        held = link.held
        if not held:
            if self.sock is None and self.auto_open:
                link.held = None  # a CONNECT is waited for
                self.connect()
                link.held = held
                _see_socket(self, link, True)
            elif self.sock is not link.sock:
                _see_socket(self, link, link.is_prepared)
            # With Expect the body waits for the server.
            is_head = type(data) is bytes and len(data) <= LIMIT
            if held is None or not is_head or (b"100-" in data and b"\nexpect:" in data.lower()):
                link.held = None
                _write(self, link, data)
            else:
                link.held = data
            return
        size = len(data) if type(data) is bytes else _size(data)
        if 0 < size <= LIMIT - len(held):
            link.held = held + data
            return
        link.held = None  # the rest leaves as it comes
        if size > 0 and type(self.sock).__module__.partition(".")[0] in _ACCEPT_VIEWS:
            room = LIMIT - len(held)
            # Each view is released: a traceback may keep it, and the body could not be resized then.
            with memoryview(data) as whole, whole.cast("B") as view, view[:room] as first, view[room:] as rest:
                _write(self, link, held + first)
                _write(self, link, rest)
        else:
            _write(self, link, held)
            _write(self, link, data)

    return send


def connected(stock: Function) -> Function:
    """Wrap ``HTTPConnection._new_conn``, which returns a connected socket: TCP_NODELAY is on before a TLS handshake."""

    def _new_conn(self: typing.Any) -> typing.Any:
        sock = stock(self)
        link = link_of(self)
        if link.scope.is_active:
            set_nodelay(sock, self.socket_options)
        link.is_prepared = True
        return sock

    return _new_conn


def _see_socket(conn: typing.Any, link: Link, is_new: bool) -> None:
    """Begin with the socket that *conn* has now. Where a subclass has connected it, TCP_NODELAY was not set yet."""
    link.sock = conn.sock
    # How many requests a connection that was open before install() has carried is not known.
    link.line = Line(tcp_socket(conn.sock), 0 if is_new else None)
    if link.is_prepared:
        link.line.nodelay = link.scope.is_active
    else:
        _ensure_nodelay(conn, link)


def _ensure_nodelay(conn: typing.Any, link: Link) -> None:
    link.line.nodelay = link.scope.is_active
    if link.scope.is_active:
        set_nodelay(conn.sock, conn.socket_options)


def _write(conn: typing.Any, link: Link, data: typing.Any) -> None:
    """Write *data* as urllib3 does."""
    record = link.record
    if record is not None and not record.request_start:
        record.begin_write(link.line)
    _send_below(conn, data)
    if record is None:
        return
    record.request_end = time.monotonic_ns()
    record.writes += 1  # type: ignore[operator]
    record.bytes_sent += len(data) if type(data) is bytes else max(_size(data), 0)  # type: ignore[operator]


def _size(data: typing.Any) -> int:
    """Return the size of *data* in bytes; -1 for what is no contiguous buffer: http.client takes it, or raises."""
    if type(data) not in _BUFFERS:
        return -1
    try:
        with memoryview(data) as view:
            return view.nbytes if view.c_contiguous else -1
    except ValueError:  # released
        return -1
