"""What onewrite does around the methods of a urllib3 connection.

Each function takes the connection and the method it stands in for. The own classes pass the bound
method of their parent, ``install()`` passes the one it replaced, so both are one behaviour. State is
kept on the connection, which one caller has at a time.
"""

from __future__ import annotations

import sys
import typing
from http.client import NotConnected

from . import _base, _body, _floor, _moments, _nodelay, _record, _write
from ._options import DEFAULTS, Options
from ._timing import Attempt, Plain

Original = typing.Callable[..., typing.Any]


class State:
    """Attributes that a connection of ours has; class-level values are those of one at rest."""

    _onewrite_options: Options = DEFAULTS
    _onewrite_hold: _write.Hold | None = None
    _onewrite_sock: typing.Any = None
    _onewrite_obey: bool = False
    _onewrite_user_options: typing.Any = None
    _onewrite_own: bool = False
    _onewrite_attempt: Attempt | Plain | None = None
    _onewrite_link: typing.Any = None
    _onewrite_ahead: typing.Any = None
    _onewrite_host: str | None = None
    _onewrite_host_of: typing.Any = None


#: Names that install() puts on urllib3's class. They stay when it is undone, and say that nothing is to be done:
#: a request of another thread may be on its way through a method of ours at that moment, and look at them.
STATE = {name: value for name, value in vars(State).items() if name.startswith("_onewrite_")}


#: An attribute that urllib3's class has while install() is in force.
INSTALLED = "_onewrite_installed"


def installed(connection_class: type) -> bool:
    """Whether install() is in force for *connection_class*, urllib3's own."""
    return INSTALLED in connection_class.__dict__


#: Connections that hold pieces just now; uninstall() waits for them.
holding: set[_write.Hold] = set()
#: Of urllib3's own connections: no more is to be held, install() is being undone.
undoing = False


def configure(conn: typing.Any, options: Options) -> None:
    """Lay *options* on *conn*: TCP_NODELAY joins the socket options it will connect with."""
    if conn._onewrite_options is not options:
        conn._onewrite_options = options
    if conn._onewrite_user_options is None:
        conn._onewrite_user_options = (getattr(conn, "socket_options", None),)
    given = conn._onewrite_user_options[0]
    conn._onewrite_obey = options.nodelay_disabled or _nodelay.refused_by(given)
    conn.socket_options = given if conn._onewrite_obey else _nodelay.merged(given)


def _own_socket(conn: typing.Any) -> None:
    """Before the first write on a socket: see that TCP_NODELAY is on."""
    conn._onewrite_sock = conn.sock
    if conn._onewrite_user_options is None:
        configure(conn, conn._onewrite_options)  # made before install(), or its __init__ skipped ours
    if not conn._onewrite_obey:
        _nodelay.ensure(conn.sock)


def request(
    conn: typing.Any,
    original: Original,
    method: str,
    url: str,
    body: typing.Any = None,
    headers: typing.Any = None,
    *,
    chunking: bool = False,
    **extra: typing.Any,
) -> None:
    """Check the request, hold its pieces while they are at hand, send them in one write."""
    # A request inside a request: 2.x's request_chunked() is request() once more.
    if conn._onewrite_options.disabled or conn._onewrite_hold is not None:
        original(method, url, body=body, headers=headers, **extra)
        return
    attempt: Attempt | Plain | None = conn._onewrite_attempt
    if attempt is not None:
        attempt = _moments.pinned(conn, attempt)
    try:
        _floor.check_line(method, url)
        kind = _body.WHOLE if body is None or type(body) is bytes else _body.kind(body)
        held = kind is not _body.BLOCKING and not conn._onewrite_options.coalesce_disabled
        if headers is not None:
            framing = _floor.check_headers(headers)
            if framing.length is not None:
                chunked = chunking or bool(extra.get("chunked"))
                body = _floor.checked_body(body, framing.length, chunked, _base.TEXT_BODY_ENCODING)
            held = held and not framing.expects_continue
        if not held:
            original(method, url, body=body, headers=headers, **extra)
        else:
            hold = _write.Hold(_write.HOLD_LIMIT if kind is _body.PROMPT else None)
            try:
                conn._onewrite_hold = hold
                holding.add(hold)
                if undoing and not conn._onewrite_own:  # asked once it is in ``holding``, so that none slips through
                    conn._onewrite_hold = None
                original(method, url, body=body, headers=headers, **extra)
                if conn._onewrite_hold is not None:
                    flush(conn)
            finally:
                conn._onewrite_hold = None
                holding.discard(hold)
    except BaseException as error:
        if attempt is not None:
            _moments.request_failed(_moments.followed(attempt), error)
        raise
    if attempt is not None and type(attempt) is not Plain:
        _moments.request_end(_moments.followed(attempt))


def flush(conn: typing.Any) -> None:
    """Send what is held, and hold no more."""
    hold: _write.Hold = conn._onewrite_hold
    conn._onewrite_hold = None
    if not hold.pieces:
        return
    if conn.sock is not conn._onewrite_sock:
        _own_socket(conn)
    if conn._onewrite_own:
        conn._learn(hold.pieces[0])
    call = conn._onewrite_attempt
    if call is None:
        _write.write(conn.sock, hold.pieces, hold.size, conn._onewrite_options.coalesce_max)
        return
    link = conn._onewrite_link
    if type(call) is Plain and hold.limit is None and link.sock is conn.sock:  # all of it is here
        call._begun = _record.now()
        writes = _write.write(conn.sock, hold.pieces, hold.size, conn._onewrite_options.coalesce_max)
        call.sent(conn.sock, link, writes, hold.size)
        return
    attempt = _moments.followed(call)
    if not attempt._request_start:
        _moments.request_start(conn, attempt)
    attempt.writes += _write.write(conn.sock, hold.pieces, hold.size, conn._onewrite_options.coalesce_max)
    attempt.bytes_sent += hold.size


def send(conn: typing.Any, original: Original, data: typing.Any) -> None:
    """Hold *data* while a request is being put together; otherwise send it as ever."""
    hold: _write.Hold | None = conn._onewrite_hold
    if conn.sock is None and not conn._onewrite_options.disabled:
        # As http.client.send does it, but with holding off: a tunnel's CONNECT goes out at once.
        if not conn.auto_open:
            raise NotConnected()
        conn._onewrite_hold = None
        try:
            conn.connect()
        finally:
            conn._onewrite_hold = hold
    if hold is None:
        _send_at_once(conn, original, data)
    elif hasattr(data, "read"):
        flush(conn)
        _send_at_once(conn, original, data)
    else:
        if conn.debuglevel > 0:
            print("send:", repr(data))
        sys.audit("http.client.send", conn, data)
        if hold.add(data):
            flush(conn)


def _send_at_once(conn: typing.Any, original: Original, data: typing.Any) -> None:
    if conn.sock is not conn._onewrite_sock and not conn._onewrite_options.disabled:
        _own_socket(conn)
    attempt = conn._onewrite_attempt
    if attempt is not None:
        attempt = _moments.followed_now(conn, attempt)
    if attempt is None or attempt._connecting:
        original(data)
        return
    if not attempt._request_start:
        _moments.request_start(conn, attempt)
    original(data)
    attempt.writes += 1
    if not hasattr(data, "read"):
        attempt.bytes_sent += len(data) if type(data) is bytes else memoryview(data).nbytes


def close(conn: typing.Any, original: Original) -> None:
    """Close; an attempt that held the connection ends."""
    attempt = conn._onewrite_attempt
    if attempt is not None:
        attempt = _moments.followed(attempt)
    original()
    if attempt is not None:
        _moments.closed(conn, attempt)
