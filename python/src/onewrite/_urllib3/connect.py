"""Opens a connection's socket: TCP_NODELAY before the TLS handshake, name and TCP apart when recorded.

While ``connect`` runs, the connection's ``_new_conn`` is replaced. That reaches every connection,
whatever subclass or SOCKS support makes its socket; urllib3 and its users have overridden that method
for ten years. A ``connect`` that is overridden as a whole (docker's Unix sockets) is not reached: its
socket is looked at before the first write, and its steps are not told apart.
"""

from __future__ import annotations

import socket
import sys
import typing

import urllib3.connection
import urllib3.exceptions
import urllib3.util.connection
from urllib3.util.ssl_ import is_ipaddress

from .. import _base_version, _patches
from .._timing.attempt import LiveAttempt
from .._wire import nodelay
from .state import acquire, attempt_of

if typing.TYPE_CHECKING:
    from .connection import OneWrite

_Connection = _patches.genuine(urllib3.connection, "HTTPConnection")
_HTTPSConnection = _patches.genuine(urllib3.connection, "HTTPSConnection")

#: urllib3's own, for which name and TCP can be told apart; whoever replaces them (to pin an address, to guard
#: against inner networks), before this import or after, makes the connection.
_CREATE_CONNECTION = urllib3.util.connection.create_connection
_NEW_CONN = _Connection._new_conn
_KNOWN = _patches.own(_CREATE_CONNECTION, "urllib3.util.connection") and _patches.own(_NEW_CONN, "urllib3.connection")


def make_connect(below: _patches.Below, own: bool) -> typing.Callable[..., None]:
    """Return ``connect``, which replaces ``_new_conn`` while it runs and ends every step that starts."""

    def connect(conn: OneWrite) -> None:
        if conn._onewrite_options.disabled or conn._onewrite_own is not own:
            below(conn, type(conn))()
            return
        attempt = attempt_of(conn)
        new_conn, tunnel = conn._new_conn, conn._tunnel
        stand_ins: dict[str, typing.Any] = {"_new_conn": lambda: _open(conn, new_conn, attempt)}
        if attempt is not None:
            attempt.connecting = True

            def watched_tunnel(*args: typing.Any, **kwargs: typing.Any) -> None:
                tunnel(*args, **kwargs)
                _connected(conn, attempt)

            stand_ins["_tunnel"] = watched_tunnel
        users = {name: _replace(conn, name, stand_in) for name, stand_in in stand_ins.items()}
        try:
            below(conn, type(conn))()
        except BaseException as error:
            if attempt is not None:
                attempt.connect_failed(error)
            raise
        else:
            if attempt is not None:
                attempt.step_end("connect")
                attempt.step_end("tls")
                acquire(conn, attempt, False)
        finally:
            if attempt is not None:
                attempt.connecting = False
            for name, users_own in users.items():
                _replace(conn, name, users_own)

    return connect


def _replace(conn: OneWrite, name: str, function: typing.Any) -> typing.Any:
    """Put *function* in the place of a method of this object, None for that of its class; return what was there.

    Without ``__dict__``: once an object has been asked for it, CPython 3.11 and 3.12 find its attributes more slowly.
    """
    found = getattr(conn, name)
    try:
        delattr(conn, name)
    except AttributeError:
        found = None
    if function is not None:
        setattr(conn, name, function)
    return found


def _open(conn: OneWrite, inner: typing.Callable[[], typing.Any], attempt: LiveAttempt | None) -> typing.Any:
    if attempt is None:
        sock = inner()
    elif (
        _KNOWN
        and getattr(inner, "__func__", None) is _NEW_CONN
        and urllib3.util.connection.create_connection is _CREATE_CONNECTION
    ):
        sock = _resolve_and_connect(conn, attempt)
    else:
        attempt.step_start("connect")
        sock = inner()
    if not conn._onewrite_obey:
        nodelay.ensure(sock)
    if attempt is not None and not getattr(conn, "_tunnel_host", None):
        _connected(conn, attempt)
    return sock


def _connected(conn: OneWrite, attempt: LiveAttempt) -> None:
    attempt.step_end("connect")
    if isinstance(conn, _HTTPSConnection):
        attempt.step_start("tls")


def _resolve_and_connect(conn: OneWrite, attempt: LiveAttempt) -> socket.socket:
    """What urllib3's ``_new_conn`` does, with its errors, in two steps that can be told apart."""
    try:
        sock = _resolved(conn, attempt)
    except socket.gaierror as error:
        if _base_version.IS_V1:
            raise urllib3.exceptions.NewConnectionError(
                conn, f"Failed to establish a new connection: {error}"
            ) from error
        raise urllib3.exceptions.NameResolutionError(conn.host, conn, error) from error
    except TimeoutError as error:
        raise urllib3.exceptions.ConnectTimeoutError(
            conn, f"Connection to {conn.host} timed out. (connect timeout={conn.timeout})"
        ) from error
    except OSError as error:
        raise urllib3.exceptions.NewConnectionError(conn, f"Failed to establish a new connection: {error}") from error
    if not _base_version.IS_V1:
        sys.audit("http.client.connect", conn, conn.host, conn.port)
    return sock


def _resolved(conn: OneWrite, attempt: LiveAttempt) -> socket.socket:
    host = conn._dns_host
    if host.startswith("["):
        host = host.strip("[]")
    literal = is_ipaddress(host)
    # The phase begins before the name is encoded: the first time in a process, that loads the codec.
    if literal:
        attempt.step_start("connect")
    else:
        attempt.step_start("dns", host=host)
    try:
        try:
            host.encode("idna")
        except UnicodeError:
            raise urllib3.exceptions.LocationParseError(f"'{host}', label empty or too long") from None
        family = urllib3.util.connection.allowed_gai_family()
        addresses = socket.getaddrinfo(host, conn.port, family, socket.SOCK_STREAM)
    except BaseException as error:
        if not literal:
            attempt.step_end("dns", error)
        raise
    if not literal:
        attempt.step_end("dns")
        attempt.step_start("connect")
    failure: OSError | None = None
    try:
        for address_family, kind, protocol, _, address in addresses:
            try:
                return _socket_to(conn, address_family, kind, protocol, address)
            except OSError as error:
                failure = error
        raise failure if failure is not None else OSError("getaddrinfo returns an empty list")
    finally:
        failure = None  # the exception holds this frame, which must not hold the exception


def _socket_to(conn: OneWrite, family: int, kind: int, protocol: int, address: typing.Any) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        for option in conn.socket_options or ():
            sock.setsockopt(*option)
        if conn.timeout is None or isinstance(conn.timeout, (int, float)):  # else: the base library's "default"
            sock.settimeout(conn.timeout)
        if conn.source_address:
            sock.bind(conn.source_address)
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock
