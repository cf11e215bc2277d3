"""urllib3's connections: what is put around their methods, and the own classes.

Each function takes the connection and the bound method it stands in for: the own classes pass that of their
parent, ``install()`` the one it replaced, so both are one behaviour.
"""

from __future__ import annotations

import http.client
import io
import sys
import typing

import urllib3.connection
from urllib3._collections import HTTPHeaderDict
from urllib3.util import SKIP_HEADER

from .. import _base_version, _patches
from .._config import DEFAULTS, Options
from .._errors import InvalidRequestError
from .._timing.attempt import LiveAttempt
from .._wire import body as bodies
from .._wire import coalesce, nodelay, quickack, validate
from . import connect, response
from .state import State, attempt_of, request_start

Original = typing.Callable[..., typing.Any]

if typing.TYPE_CHECKING:
    from urllib3.connection import HTTPConnection as _Connection
    from urllib3.connection import HTTPSConnection as _HTTPSConnection

    Below = _Connection
else:
    _Connection = _patches.genuine(urllib3.connection, "HTTPConnection")
    _HTTPSConnection = _patches.genuine(urllib3.connection, "HTTPSConnection")
    Below = object


def configure(conn: OneWrite, options: Options) -> None:
    """Lay *options* on *conn*: TCP_NODELAY joins the socket options it will connect with."""
    if conn._onewrite_options is not options:
        conn._onewrite_options = options
    if conn._onewrite_user_options is None:
        conn._onewrite_user_options = (getattr(conn, "socket_options", None),)
    given = conn._onewrite_user_options[0]
    conn._onewrite_obey = options.nodelay_disabled or nodelay.refused_by(given)
    conn.socket_options = given if conn._onewrite_obey else nodelay.merged(given)  # type: ignore[assignment]


def own_socket(conn: OneWrite) -> None:
    """Set TCP_NODELAY where it is off, before the first write on a socket."""
    conn._onewrite_sock = conn.sock
    if conn._onewrite_user_options is None:
        configure(conn, conn._onewrite_options)  # made before install(), or by an __init__ that bypasses init()
    if not conn._onewrite_obey:
        nodelay.ensure(conn.sock)


def init(conn: OneWrite, original: Original, *args: typing.Any, **kwargs: typing.Any) -> None:
    """Make a connection. Every way to one ends here: pools, proxies, SOCKS, subclasses."""
    original(*args, **kwargs)
    if not conn._onewrite_options.disabled:
        configure(conn, conn._onewrite_options)


def request(
    conn: OneWrite,
    original: Original,
    method: str,
    url: str,
    body: typing.Any = None,
    headers: typing.Any = None,
    **extra: typing.Any,
) -> None:
    """Check the request, collect its pieces while they are at hand, send them in one write.

    The only method that gets the whole of a request.
    """
    options = conn._onewrite_options
    if options.disabled or conn._onewrite_hold is not None:  # request_chunked() of 2.x within request()
        original(method, url, body=body, headers=headers, **extra)
        return
    attempt = conn._onewrite_attempt
    try:
        validate.check_line(method, url)
        kind = bodies.kind(body)
        held = kind is not bodies.BLOCKING and not options.coalesce_disabled
        if headers is not None:
            framing = validate.check_headers(_pairs(headers), SKIP_HEADER)
            if framing is not None:
                if framing.length is not None:
                    body = validate.checked_body(
                        body, framing.length, extra.get("chunked", False), _base_version.TEXT_BODY_ENCODING
                    )
                held = held and not framing.expects_continue
        try:
            if held:
                conn._onewrite_hold = coalesce.Hold(kind is bodies.PROMPT)
            original(method, url, body=body, headers=headers, **extra)
            if (hold := conn._onewrite_hold) is not None:
                _flush(conn, hold)
        finally:
            conn._onewrite_hold = None
        if options.quickack:
            quickack.acknowledge(conn.sock)
    except BaseException as error:
        if attempt is not None:
            attempt.request_failed(error, isinstance(error, InvalidRequestError))
        raise
    if attempt is not None:
        attempt.request_end()


def request_chunked(conn: OneWrite, original: Original, *args: typing.Any, **kwargs: typing.Any) -> None:
    """The same for chunked bodies in urllib3 1.26; in 2.x this method calls request()."""

    def below(*args: typing.Any, chunked: bool, **kwargs: typing.Any) -> None:
        original(*args, **kwargs)

    request(conn, below, *args, chunked=True, **kwargs)


def _pairs(headers: typing.Any) -> typing.Iterable[tuple[typing.Any, typing.Any]]:
    """Return ``headers.items()``; urllib3's own class is read directly, since its items() runs three generators."""
    if type(headers) is HTTPHeaderDict and type(container := headers._container) is dict:
        return [(field[0], value) for field in container.values() for value in field[1:]]
    return headers.items()  # type: ignore[no-any-return]


def _flush(conn: OneWrite, hold: coalesce.Hold) -> None:
    """Send what is held, and hold no more."""
    conn._onewrite_hold = None
    pieces = hold.pieces
    if not pieces:
        return
    if conn.sock is not conn._onewrite_sock:
        own_socket(conn)
    attempt = conn._onewrite_attempt
    if attempt is not None and "request_start" not in attempt.at:
        request_start(conn, attempt)
    writes = coalesce.write(conn.sock, pieces, hold.size, conn._onewrite_options.coalesce_max)
    if attempt is not None:
        attempt.writes += writes
        attempt.bytes_sent += hold.size


def send(conn: OneWrite, original: Original, data: typing.Any) -> None:
    """Hold *data* while a request is being put together; otherwise send it.

    All bytes of a request pass here, also those of subclasses that override ``_send_output`` (botocore).
    """
    hold: coalesce.Hold | None = conn._onewrite_hold
    if conn.sock is None and (hold is not None or not conn._onewrite_options.disabled):
        # As http.client.send does it, but with holding off: a tunnel's CONNECT goes out at once.
        if not conn.auto_open:
            raise http.client.NotConnected()
        conn._onewrite_hold = None
        try:
            conn.connect()
        finally:
            conn._onewrite_hold = hold
    if hold is None:
        _send_at_once(conn, original, data)
    elif type(data) is not bytes and hasattr(data, "read"):
        _send_read(conn, original, data)
    else:
        if conn.debuglevel > 0:  # as http.client does it
            print("send:", repr(data))
        sys.audit("http.client.send", conn, data)
        hold.pieces.append(data)
        hold.size += len(data) if type(data) is bytes else memoryview(data).nbytes
        if hold.read and hold.size >= coalesce.HOLD_LIMIT:
            _flush(conn, hold)


def _send_read(conn: OneWrite, original: Original, data: typing.Any) -> None:
    """As http.client reads a body that has ``read`` (urllib3 1.26 leaves it to that), its first pieces held."""
    text = isinstance(data, io.TextIOBase)
    while piece := data.read(conn.blocksize):
        send(conn, original, piece.encode("iso-8859-1") if text else piece)


def _send_at_once(conn: OneWrite, original: Original, data: typing.Any) -> None:
    if conn.sock is not conn._onewrite_sock and not conn._onewrite_options.disabled:
        own_socket(conn)
    attempt = attempt_of(conn)
    if attempt is None or attempt.connecting:
        original(data)
        return
    if "request_start" not in attempt.at:
        request_start(conn, attempt)
    original(data)
    attempt.writes += 1
    if not hasattr(data, "read"):
        attempt.bytes_sent += len(data) if type(data) is bytes else memoryview(data).nbytes


def close(conn: OneWrite, original: Original) -> None:
    """Close. A response that is closed unread closes its connection and never comes back to the pool."""
    original()
    if conn._onewrite_connection is None:
        return
    conn._onewrite_connection.closed()
    attempt: LiveAttempt | None = conn._onewrite_attempt
    if attempt is None or attempt.awaiting or "headers_end" not in attempt.at:
        return  # part of the exchange itself: "Connection: close", a tunnel that was refused, an error
    # After the head only two close it: a caller who gives the body up, and urllib3 when a read failed, which it does
    # while that error is on its way.
    error = sys.exc_info()[1]
    if isinstance(error, (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError)):
        attempt.error = error
    conn._onewrite_attempt = None
    attempt.end("ok" if attempt.error is None else "error")


class OneWrite(State, Below):
    """The behaviour of both classes, in front of urllib3's."""

    _onewrite_own = True
    response_class = response.ResponseClass()

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().__init__(*args, **kwargs)
        configure(self, DEFAULTS)

    def request(
        self, method: str, url: str, body: typing.Any = None, headers: typing.Any = None, **extra: typing.Any
    ) -> None:
        """Send a request: see :meth:`urllib3.connection.HTTPConnection.request`.

        Raises :class:`onewrite.InvalidRequestError` before the first byte where the request is not one.
        """
        request(self, super().request, method, url, body, headers, **extra)

    if _base_version.IS_V1:

        def request_chunked(self, method: str, url: str, body: typing.Any = None, headers: typing.Any = None) -> None:
            """Send a chunked request: see :meth:`urllib3.connection.HTTPConnection.request_chunked`."""
            request_chunked(self, super().request_chunked, method, url, body, headers)

    def send(self, data: typing.Any) -> None:
        """Send bytes: see :meth:`http.client.HTTPConnection.send`."""
        send(self, super().send, data)

    def connect(self) -> None:
        """Connect: see :meth:`urllib3.connection.HTTPConnection.connect`."""
        connect.connect(self, super().connect)

    def getresponse(self, **extra: typing.Any) -> typing.Any:
        """Read a response: see :meth:`urllib3.connection.HTTPConnection.getresponse`."""
        if self._onewrite_attempt is None:
            return super().getresponse(**extra)
        return response.getresponse(self, super().getresponse, **extra)

    def close(self) -> None:
        """Close: see :meth:`http.client.HTTPConnection.close`."""
        close(self, super().close)


class HTTPConnection(OneWrite, _Connection):
    """urllib3's HTTPConnection that sends head and body in one write, with TCP_NODELAY on."""


class HTTPSConnection(OneWrite, _HTTPSConnection):
    """urllib3's HTTPSConnection that sends head and body in one write, with TCP_NODELAY on."""
