"""What onewrite keeps on a urllib3 connection, which one caller has at a time."""

from __future__ import annotations

import typing

from .._config import DEFAULTS, Options
from .._timing import attempt as moments
from .._timing.connection import Link
from .._timing.record import Attempt
from .._wire.coalesce import Hold


class State:
    """Attributes of onewrite's connections; the class-level values are those of an idle one."""

    _onewrite_options: Options = DEFAULTS
    #: The pieces of a request while it is put together.
    _onewrite_hold: Hold | None = None
    #: The socket whose TCP_NODELAY was looked at.
    _onewrite_sock: typing.Any = None
    #: Whether the user's own options switch TCP_NODELAY off.
    _onewrite_obey: bool = False
    _onewrite_user_options: typing.Any = None
    #: Whether the class is onewrite's own; what install() puts in front of urllib3's methods then does nothing.
    _onewrite_own: bool = False
    #: What the seam has read of an answer that http.client is to read on, and when.
    _onewrite_first: tuple[bytes, int] | None = None
    _onewrite_attempt: Attempt | None = None
    _onewrite_link: Link | None = None


#: Names that install() puts on urllib3's class. They stay after uninstall(), with values that say that nothing is
#: to be done: at that moment another thread's request may be inside a method that reads them.
STATE = {name: value for name, value in vars(State).items() if name.startswith("_onewrite_")}


def acquire(conn: typing.Any, attempt: Attempt, reused: bool) -> None:
    """*conn* is ready for the request of *attempt*."""
    link: Link | None = conn._onewrite_link
    if link is None or link.sock is not conn.sock:
        link = conn._onewrite_link = Link(conn.sock, _peer(conn))
    moments.acquired(attempt, link, reused)


def _peer(conn: typing.Any) -> tuple[str, int]:
    """Whom *conn* leads to: the origin behind a tunnel, else whom it connects to, a forward proxy among them."""
    host = getattr(conn, "_tunnel_host", None)
    return (host, conn._tunnel_port) if host else (conn.host, conn.port)


def attempt_of(conn: typing.Any) -> Attempt | None:
    """The attempt that now uses *conn*.

    One that is over, or another call's, was left there when install() was undone. A connection is pinned and used
    within one call, so the call under way tells.
    """
    attempt: Attempt | None = conn._onewrite_attempt
    if attempt is not None and (attempt._end or moments.current.get() is not attempt._call):
        conn._onewrite_attempt = attempt = None
    return attempt


def request_start(conn: typing.Any, attempt: Attempt) -> None:
    """The first byte is about to be handed to the kernel."""
    if not attempt._acquired:
        acquire(conn, attempt, False)  # connected in a way of its own
    moments.request_start(attempt)
