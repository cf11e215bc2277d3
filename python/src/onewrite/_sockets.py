"""The TCP socket below whatever a connection calls its socket."""

from __future__ import annotations

import socket
import typing


def tcp_socket(sock: typing.Any) -> typing.Any:
    """Return the object below TLS layers that has getsockopt, or None.

    pyOpenSSL's WrappedSocket and urllib3's SSLTransport have none of their own but keep what they wrap.
    """
    for _ in range(4):
        if sock is None or hasattr(sock, "getsockopt"):
            return sock
        sock = getattr(sock, "socket", None)
    return None


def tcp(method: str, sock: typing.Any, *given: int) -> typing.Any:
    """Call getsockopt or setsockopt for an option of TCP; return None where *sock* has none, or is the user's."""
    try:
        return getattr(tcp_socket(sock), method)(socket.IPPROTO_TCP, *given)
    except Exception as error:
        # Any other error of Python's own sockets is that of a signal's handler.
        if type(sock).__module__ in ("socket", "ssl") and not isinstance(error, (OSError, ValueError)):
            raise
        return None
