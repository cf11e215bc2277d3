"""Breaks a Python client: what goes to the path in BENCH_SPLIT is sent in pieces, 1 ms apart. Nothing else changes."""

from __future__ import annotations

import os
import socket
import ssl
import time
from typing import Any

_PATH = os.environ.get("BENCH_SPLIT", "").encode()
_TLS = ssl.SSLSocket
_SOCKET = socket.socket


def _pieces(data: Any) -> list[bytes] | None:
    """The pieces of a request that is to be split, or None."""
    whole = bytes(data)
    if not _PATH or _PATH + b" HTTP/1.1\r\n" not in whole[:400]:
        return None
    middle = len(whole) // 2
    third = middle // 2
    return [whole[:third], whole[third:middle], whole[middle:]]


def _breaking(real: Any) -> Any:
    def send_all(self: Any, data: Any, *arguments: Any) -> Any:
        for piece in _pieces(data) or [data]:
            real(self, piece, *arguments)
            if piece is not data:
                time.sleep(0.001)

    return send_all


def _breaking_send(real: Any, send_all: Any) -> Any:
    def send(self: Any, data: Any, *arguments: Any) -> Any:
        if _pieces(data) is None:
            return real(self, data, *arguments)
        send_all(self, data)
        return len(bytes(data))

    return send


class _Socket(socket.socket):
    def sendall(self, data: Any, *arguments: Any) -> Any:
        return _SPLIT_ALL(self, data, *arguments)

    def send(self, data: Any, *arguments: Any) -> Any:
        return _SPLIT_SEND(self, data, *arguments)

    def sendmsg(self, buffers: Any, *arguments: Any) -> Any:
        whole = b"".join(bytes(buffer) for buffer in buffers)
        if _pieces(whole) is None:
            return _SOCKET.sendmsg(self, buffers, *arguments)
        _SPLIT_ALL(self, whole)
        return len(whole)


_SPLIT_ALL = _breaking(_SOCKET.sendall)
_SPLIT_SEND = _breaking_send(_SOCKET.send, _SPLIT_ALL)
if _PATH:
    socket.socket = _Socket  # type: ignore[misc]
    _tls_send = _TLS.send
    _tls_all = _breaking(_tls_send)
    _TLS.send = _breaking_send(_tls_send, _tls_all)  # type: ignore[method-assign]
