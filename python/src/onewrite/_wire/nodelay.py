"""TCP_NODELAY on every connection, before its first byte.

Nagle's algorithm holds a small write back until the one before it is acknowledged (RFC 896; RFC 9293, 3.7.4), and the
peer may take 40 ms and more to do so (RFC 1122, 4.2.3.2). urllib3 names TCP_NODELAY in its default ``socket_options``
only: any list of a user replaces the default, and a pool behind a proxy gets an empty one.
"""

from __future__ import annotations

import collections.abc
import functools
import logging
import operator
import socket
import typing

from .._sockets import tcp

log = logging.getLogger("onewrite")


def _refused_by(options: typing.Any) -> bool:
    """Return whether a user's list of socket options switches TCP_NODELAY off. The last of several values counts.

    The list and its numbers may be of classes of the user, whose methods may raise. setsockopt() calls __index__ alone.
    """
    refused = False
    try:
        if isinstance(options, collections.abc.Collection):  # an iterator may be read once only
            for option in options:
                if tuple(map(operator.index, option[:2])) == (socket.IPPROTO_TCP, socket.TCP_NODELAY):
                    value = option[2]
                    refused = not (operator.index(value) if hasattr(value, "__index__") else any(memoryview(value)))
    except Exception:  # the base library has read the same
        return refused
    return refused


@functools.cache
def _report() -> None:
    log.warning("TCP_NODELAY was set on a connection and is not on; small writes may wait for acknowledgements")


def ensure(sock: typing.Any, options: typing.Any) -> None:
    """Switch TCP_NODELAY on where it is off and the user's socket *options* do not refuse it.

    A socket that is not TCP is left alone.
    """
    if tcp("getsockopt", sock, socket.TCP_NODELAY) == 0 and not _refused_by(options):
        tcp("setsockopt", sock, socket.TCP_NODELAY, 1)
        if tcp("getsockopt", sock, socket.TCP_NODELAY) == 0:
            _report()
