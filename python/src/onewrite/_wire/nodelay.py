"""TCP_NODELAY on every connection: added to the options of a new one, looked at again before the first write.

urllib3 names TCP_NODELAY in its default ``socket_options`` only. Any list a user gives replaces the
default, and a pool behind a proxy gets an empty one (connectionpool.py, "Enable Nagle's algorithm for
proxies"). Nagle's algorithm then holds a small write back until the one before it is acknowledged
(RFC 896; RFC 9293, 3.7.4), and the peer may take 40 ms and more to do so (RFC 1122, 4.2.3.2).
"""

from __future__ import annotations

import functools
import logging
import socket
import typing

from .._sockets import tcp_socket

log = logging.getLogger("onewrite")

SocketOptions = typing.Sequence[typing.Any]

_OPTION = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def named_by(options: SocketOptions | None) -> bool:
    """Whether the user's own list says anything about TCP_NODELAY."""
    return any(
        len(option) >= 2 and option[0] == socket.IPPROTO_TCP and option[1] == socket.TCP_NODELAY
        for option in options or ()
    )


def refused_by(options: SocketOptions | None) -> bool:
    """Whether the user's own list switches TCP_NODELAY off; of several values the last one counts."""
    values = [
        option[2]
        for option in options or ()
        if len(option) >= 3 and option[0] == socket.IPPROTO_TCP and option[1] == socket.TCP_NODELAY
    ]
    return bool(values) and values[-1] in (0, b"\0\0\0\0")


def merged(options: SocketOptions | None) -> SocketOptions:
    """*options* with TCP_NODELAY on, unless they name it. The caller's list is left as it is."""
    if options is None:
        return [_OPTION]
    if named_by(options):
        return options
    return [*options, _OPTION]


@functools.cache
def _report() -> None:
    """Say once that a connection did not take the option."""
    log.warning("TCP_NODELAY was set on a connection and is not on; small writes may wait for acknowledgements")


def ensure(sock: typing.Any) -> None:
    """Switch TCP_NODELAY on where it is off.

    Reaches the sockets of a subclass that overrides ``connect`` or ``_new_conn`` and sets no option.
    A socket that is not TCP (a Unix socket answers EOPNOTSUPP) is left alone.
    """
    tcp = tcp_socket(sock)
    if tcp is None or getattr(tcp, "family", socket.AF_INET) not in (socket.AF_INET, socket.AF_INET6):
        return
    try:
        if tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY):
            return
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY):
            _report()
    except (OSError, ValueError, TypeError, AttributeError):
        return
