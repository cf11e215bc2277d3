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
from .._wire import body as bodies
from .._wire import coalesce, nodelay, quickack, validate
from . import connect, response
from .state import State, attempt_of, request_start

Bound = typing.Callable[..., typing.Any]

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


def init(conn: OneWrite, below: Bound, *args: typing.Any, **kwargs: typing.Any) -> None:
    """Make a connection. Every way to one ends here: pools, proxies, SOCKS, subclasses."""
    below(*args, **kwargs)
    if not conn._onewrite_options.disabled:
        configure(conn, conn._onewrite_options)


def make_request(below: _patches.Below, own: bool) -> Bound:
    """Return ``request``: it checks the request, collects its pieces while they are at hand, sends them in one write.

    No other method gets the whole of a request.
    """

    def request(
        self: OneWrite,
        method: str,
        url: str,
        body: typing.Any = None,
        headers: typing.Any = None,
        **extra: typing.Any,
    ) -> None:
        options = self._onewrite_options
        # Pieces are held in request_chunked() of 2.x, which may be called within request().
        if options.disabled or self._onewrite_own is not own or self._onewrite_held is not None:
            below(self, type(self))(method, url, body=body, headers=headers, **extra)
            return
        attempt = self._onewrite_attempt
        try:
            validate.check_line(method, url)
            kind = bodies.WHOLE if type(body) is bytes else bodies.kind(body)
            hold = kind is not bodies.BLOCKING and not options.coalesce_disabled
            if headers is not None:
                framing = validate.check_headers(_fields(headers), SKIP_HEADER)
                if framing is not None:
                    if framing.length is not None:
                        body = validate.checked_body(
                            body, framing.length, extra.get("chunked", False), _base_version.TEXT_BODY_ENCODING
                        )
                    hold = hold and not framing.expects_continue
            try:
                if hold:
                    self._onewrite_held = []
                    self._onewrite_room = coalesce.HOLD_LIMIT if kind is bodies.PROMPT else None
                below(self, type(self))(method, url, body=body, headers=headers, **extra)
                if self._onewrite_held:
                    _flush(self, self._onewrite_held)
            finally:
                self._onewrite_held = None
            if options.quickack:
                quickack.acknowledge(self.sock)
        except BaseException as error:
            if attempt is not None:
                attempt.request_failed(error, isinstance(error, InvalidRequestError))
            raise
        if attempt is not None:
            attempt.request_end()

    return request


def make_request_chunked(below: _patches.Below, own: bool) -> Bound:
    """Return ``request_chunked`` of urllib3 1.26; in 2.x that method calls ``request``."""

    def ignoring_chunked(self: OneWrite, cls: type) -> Bound:
        bound = below(self, cls)

        def request_chunked(*args: typing.Any, chunked: bool, **kwargs: typing.Any) -> None:
            bound(*args, **kwargs)

        return request_chunked

    request = make_request(ignoring_chunked, own)

    def request_chunked(
        self: OneWrite, method: str, url: str, body: typing.Any = None, headers: typing.Any = None
    ) -> None:
        request(self, method, url, body, headers, chunked=True)

    return request_chunked


def _fields(headers: typing.Any) -> typing.Iterable[typing.Iterable[typing.Any]]:
    """Return header fields, each a name and its values; items() of urllib3's own class runs three generators."""
    if type(headers) is HTTPHeaderDict and type(container := headers._container) is dict:
        return container.values()
    return headers.items()  # type: ignore[no-any-return]


def _flush(conn: OneWrite, pieces: list[coalesce.Piece]) -> None:
    """Send what is held, and hold no more."""
    conn._onewrite_held = None
    if conn.sock is not conn._onewrite_sock:
        own_socket(conn)
    attempt = conn._onewrite_attempt
    if attempt is not None and "request_start" not in attempt.at:
        request_start(conn, attempt)
    writes = coalesce.write(conn.sock, pieces, conn._onewrite_options.coalesce_max)
    if attempt is not None:
        attempt.writes += writes
        attempt.bytes_sent += sum(map(len, pieces))


def make_send(below: _patches.Below, own: bool) -> Bound:
    """Return ``send``: it holds what it gets while a request is being put together, and sends it otherwise.

    All bytes of a request pass here, also those of subclasses that override ``_send_output`` (botocore).
    """

    def send(self: OneWrite, data: typing.Any) -> None:
        if self._onewrite_own is not own:
            below(self, type(self))(data)
            return
        held = self._onewrite_held
        if self.sock is None and (held is not None or not self._onewrite_options.disabled):
            # As http.client.send does it, but with holding off: a tunnel's CONNECT goes out at once.
            if not self.auto_open:
                raise http.client.NotConnected()
            self._onewrite_held = None
            try:
                self.connect()
            finally:
                self._onewrite_held = held
        if held is None:
            _send_at_once(self, below(self, type(self)), data)
            return
        if type(data) is not bytes and hasattr(data, "read"):
            # urllib3 1.26 leaves reading to http.client, which does it so.
            text = isinstance(data, io.TextIOBase)
            while piece := data.read(self.blocksize):
                send(self, piece.encode("iso-8859-1") if text else piece)
            return
        if self.debuglevel > 0:  # as http.client does it
            print("send:", repr(data))
        sys.audit("http.client.send", self, data)
        held.append(data if type(data) is bytes else memoryview(data).cast("B"))
        if self._onewrite_room is not None:
            self._onewrite_room -= len(held[-1])
            if self._onewrite_room <= 0:
                _flush(self, held)

    return send


def _send_at_once(conn: OneWrite, below: Bound, data: typing.Any) -> None:
    if conn.sock is not conn._onewrite_sock and not conn._onewrite_options.disabled:
        own_socket(conn)
    attempt = attempt_of(conn)
    if attempt is None or attempt.connecting:
        below(data)
        return
    if "request_start" not in attempt.at:
        request_start(conn, attempt)
    below(data)
    attempt.writes += 1
    if not hasattr(data, "read"):
        attempt.bytes_sent += len(data) if type(data) is bytes else memoryview(data).nbytes


def make_close(below: _patches.Below, own: bool) -> Bound:
    """Return ``close``. A response that is closed unread closes its connection and never comes back to the pool."""

    def close(self: OneWrite) -> None:
        below(self, type(self))()
        if self._onewrite_own is not own or self._onewrite_connection is None:
            return
        self._onewrite_connection.closed()
        attempt = self._onewrite_attempt
        if attempt is None or attempt.awaiting or "headers_end" not in attempt.at:
            return  # part of the exchange itself: "Connection: close", a tunnel that was refused, an error
        # After the head only two close it: a caller who gives the body up, and urllib3 when a read failed, which it
        # does while that error is on its way.
        error = sys.exc_info()[1]
        if isinstance(error, (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError)):
            attempt.error = error
        self._onewrite_attempt = None
        attempt.end("ok" if attempt.error is None else "error")

    return close


class Method(typing.NamedTuple):
    """A method of urllib3's connections that the own classes and install() replace."""

    make: _patches.Make
    #: Whether only timing needs it: install() does not replace it while there is no hook.
    timing: bool = False
    #: Whether it ends what another has begun: uninstall() leaves it, for the requests that are under way.
    stays: bool = False


#: In the order in which install() replaces them, so that no request is begun whose end is not seen.
METHODS = {
    "send": Method(make_send, stays=True),
    "__init__": Method(_patches.around(init)),
    "connect": Method(connect.make_connect),
    "getresponse": Method(response.make_getresponse, timing=True, stays=True),
    "close": Method(make_close, timing=True, stays=True),
    "request": Method(make_request),
}
if _base_version.IS_V1:
    METHODS["request_chunked"] = Method(make_request_chunked)


class OneWrite(State, Below):
    """The behaviour of both classes, in front of urllib3's."""

    _onewrite_own = True
    if not DEFAULTS.disabled:
        response_class = response.Unread


for _name, _method in METHODS.items():
    _like = getattr(_Connection, _name)
    setattr(OneWrite, _name, _patches.method(OneWrite, _name, _method.make, _like, own=True))


class HTTPConnection(OneWrite, _Connection):
    """urllib3's HTTPConnection that sends head and body in one write, with TCP_NODELAY on."""


class HTTPSConnection(OneWrite, _HTTPSConnection):
    """urllib3's HTTPSConnection that sends head and body in one write, with TCP_NODELAY on."""
