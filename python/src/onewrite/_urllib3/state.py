"""What onewrite keeps on a urllib3 connection, which one caller has at a time."""

from __future__ import annotations

import typing

from .._config import DEFAULTS, Options
from .._timing.attempt import LiveAttempt
from .._timing.connection import Connection
from .._wire.coalesce import Piece

if typing.TYPE_CHECKING:
    from .connection import OneWrite


class State:
    """Attributes of onewrite's connections; the class-level values are those of an idle one."""

    _onewrite_options: Options = DEFAULTS
    #: The pieces of a request while it is put together.
    _onewrite_held: list[Piece] | None = None
    #: How many bytes more may be held, of a body that is read piece by piece.
    _onewrite_room: int | None = None
    #: The socket whose TCP_NODELAY was read back.
    _onewrite_sock: typing.Any = None
    #: Whether the user's own options switch TCP_NODELAY off.
    _onewrite_obey: bool = False
    _onewrite_user_options: typing.Any = None
    #: Whether the class is onewrite's own; the methods that install() puts in place then call the one below.
    _onewrite_own: bool = False
    _onewrite_attempt: LiveAttempt | None = None
    _onewrite_connection: Connection | None = None


#: Names that install() puts on urllib3's class.
STATE = {name: value for name, value in vars(State).items() if name.startswith("_onewrite_")}


def acquire(conn: OneWrite, attempt: LiveAttempt, reused: bool) -> None:
    """*conn* is ready for the request of *attempt*."""
    connection: Connection | None = conn._onewrite_connection
    if connection is None or connection.sock is not conn.sock:
        connection = conn._onewrite_connection = Connection(conn.sock, _peer(conn))
    attempt.acquired(connection, reused)


def _peer(conn: OneWrite) -> tuple[str, int | None]:
    """The origin behind a tunnel, else the server that *conn* connects to, which may be a forward proxy."""
    host = getattr(conn, "_tunnel_host", None)
    return (host, conn._tunnel_port) if host else (conn.host, conn.port)


def attempt_of(conn: OneWrite) -> LiveAttempt | None:
    """The attempt that now uses *conn*."""
    attempt: LiveAttempt | None = conn._onewrite_attempt
    if attempt is not None and attempt.ended:
        conn._onewrite_attempt = attempt = None
    return attempt


def request_start(conn: OneWrite, attempt: LiveAttempt) -> None:
    """The first byte is about to be handed to the kernel."""
    if attempt.connection is None:
        acquire(conn, attempt, False)  # a subclass has connected in another way
    attempt.request_start()
