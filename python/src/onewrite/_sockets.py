"""The TCP socket below whatever a connection calls its socket."""

from __future__ import annotations

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
