"""TCP_QUICKACK (Linux): acknowledge a response at once."""

from __future__ import annotations

import socket
import typing

from .._sockets import tcp

#: The socket option, or None where the platform has none.
QUICKACK = getattr(socket, "TCP_QUICKACK", None)


def acknowledge(sock: typing.Any) -> None:
    """Let the kernel acknowledge at once what comes next.

    A server that writes head and body apart with Nagle on waits for the client's ACK between the two. Sending ends
    the effect (tcp(7)), so this is called after the last write of each request.
    """
    if QUICKACK is not None:
        tcp("setsockopt", sock, QUICKACK, 1)
