"""TCP_NODELAY on every connection, before its first byte, and TCP_QUICKACK for those who ask for it.

Nagle's algorithm holds a small write back until the one before it is acknowledged (RFC 896; RFC 9293, 3.7.4), and the
peer may take 40 ms and more to do so (RFC 1122, 4.2.3.2). urllib3 names TCP_NODELAY in its default ``socket_options``
alone: a list of the user replaces them, and a pool behind a proxy gets an empty one.
"""

from __future__ import annotations

import contextlib
import operator
import socket
import typing

_NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY)
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)


def tcp_socket(sock: typing.Any) -> typing.Any:
    """Return the socket that has the options: pyOpenSSL's, and that of TLS in TLS, keep it as ``socket``."""
    for _ in range(4):
        if sock is None or hasattr(sock, "setsockopt"):
            break
        sock = getattr(sock, "socket", None)
    return sock


def _set(sock: typing.Any, option: int) -> None:
    # A Unix socket; closed by another thread; a kind of the user's own, which may raise anything.
    with contextlib.suppress(Exception):
        tcp_socket(sock).setsockopt(socket.IPPROTO_TCP, option, 1)


def _is_refused(options: typing.Any) -> bool:
    """Return whether the user's list of socket options switches TCP_NODELAY off. The last value counts."""
    refused = False
    try:
        for option in options or ():
            if tuple(map(operator.index, option[:2])) == _NODELAY:
                value = option[2]
                refused = not (operator.index(value) if hasattr(value, "__index__") else any(memoryview(value)))
    except Exception:  # an iterator, or classes of the user: urllib3 has read the same
        return refused
    return refused


def set_nodelay(sock: typing.Any, options: typing.Any) -> None:
    """Switch Nagle's algorithm off on *sock*, unless the connection's socket *options* switch it on."""
    if not _is_refused(options):
        _set(sock, socket.TCP_NODELAY)


def set_quickack(sock: typing.Any) -> None:
    """Let the kernel acknowledge at once what comes next (Linux). It ends by itself (tcp(7))."""
    if _QUICKACK is not None:
        _set(sock, _QUICKACK)
