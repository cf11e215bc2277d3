"""TCP_NODELAY on every connection, before its first byte.

Nagle's algorithm holds a small write back until the one before it is acknowledged (RFC 896; RFC 9293, 3.7.4), and the
peer may take 40 ms and more to do so (RFC 1122, 4.2.3.2). urllib3 names TCP_NODELAY in its default ``socket_options``
only: any list of a user replaces the default, and a pool behind a proxy gets an empty one.
"""

from __future__ import annotations

import collections.abc
import functools
import logging
import socket
import typing

from .._sockets import tcp

log = logging.getLogger("onewrite")


def named_by(options: typing.Any) -> list[typing.Any]:
    """Return the values that a user's list of socket options gives TCP_NODELAY."""
    if not isinstance(options, collections.abc.Collection):
        return []  # an iterator may be read once only
    return [
        option[2]
        for option in options
        if isinstance(option, (tuple, list))
        and len(option) == 3
        and tuple(option[:2]) == (socket.IPPROTO_TCP, socket.TCP_NODELAY)
    ]


def refused_by(options: typing.Any) -> bool:
    """Return whether a user's list switches TCP_NODELAY off. The last of several values counts."""
    values = named_by(options)
    return bool(values) and values[-1] in (0, b"\0\0\0\0")


@functools.cache
def _report() -> None:
    log.warning("TCP_NODELAY was set on a connection and is not on; small writes may wait for acknowledgements")


def ensure(sock: typing.Any) -> None:
    """Switch TCP_NODELAY on where it is off. A socket that is not TCP is left alone."""
    if tcp("getsockopt", sock, socket.TCP_NODELAY) == 0:
        tcp("setsockopt", sock, socket.TCP_NODELAY, 1)
        if tcp("getsockopt", sock, socket.TCP_NODELAY) == 0:
            _report()
