"""The TCP socket below whatever a connection calls its socket."""

from __future__ import annotations

import socket
import typing


def host_and_port(host: str, port: object) -> str:
    """Return *host* and *port* as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host and host[:1] != "[" else f"{host}:{port}"


def tcp(method: str, sock: typing.Any, *given: int) -> typing.Any:
    """Call getsockopt or setsockopt for an option of TCP; return None where *sock* has none, or is the user's.

    pyOpenSSL's WrappedSocket and urllib3's SSLTransport have neither but keep what they wrap.
    """
    try:
        below = sock
        for _ in range(4):
            if hasattr(below, method):
                break
            below = below.socket
        return getattr(below, method)(socket.IPPROTO_TCP, *given)
    except Exception as error:
        # Any other error of Python's own sockets is that of a signal's handler.
        if type(sock).__module__ in ("socket", "ssl") and not isinstance(error, (OSError, ValueError)):
            raise
        return None
