"""Two clients of the tool's own, in the same run: one that must stall, one that must not.

Without them a figure in milliseconds says nothing: another kernel delays an ACK by another time, a busy machine
makes everything late.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from urllib.parse import urlsplit

from onewrite_cli.exit_status import CouldNotRun

__all__ = ["ControlClient", "run_controls", "run_fresh_control"]

PATH = "/onewrite-control"
TIMEOUT_S = 10.0


class ControlClient:
    """One kept-alive connection. `split` writes head and body apart with Nagle on; else one write."""

    def __init__(self, url: str, *, split: bool, body: int, ca_file: str | None, proxy: str | None = None) -> None:
        target = urlsplit(url)
        where = urlsplit(proxy or url)
        self._split = split
        sock = socket.create_connection((where.hostname or "127.0.0.1", where.port or 80), timeout=TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0 if split else 1)
        self.port: int = sock.getsockname()[1]
        self._sock = sock
        if target.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self._sock = context.wrap_socket(sock, server_hostname=target.hostname)
        path = f"http://{target.netloc}{PATH}" if proxy else PATH
        lines = [f"POST {path} HTTP/1.1", f"Host: {target.netloc}", f"Content-Length: {body}"]
        self._head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self._body = b"x" * body

    def request(self) -> None:
        """One request and its whole answer. Raises OSError."""
        if self._split:
            self._sock.sendall(self._head)
            self._sock.sendall(self._body)
        else:
            self._sock.sendall(self._head + self._body)
        answer = b""
        while not answer.endswith(b"ok\n"):
            piece = self._sock.recv(65536)
            if not piece:
                raise ConnectionResetError("the control's connection was closed")
            answer += piece

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.close()


def run_controls(url: str, *, body: int, times: int, ca_file: str | None, proxy: str | None) -> tuple[int, int]:
    """`times` requests of either kind, in turn; returns their client ports: (split, single). Raises CouldNotRun."""
    try:
        split = ControlClient(url, split=True, body=body, ca_file=ca_file, proxy=proxy)
        single = ControlClient(url, split=False, body=body, ca_file=ca_file, proxy=proxy)
        try:
            for _ in range(times):
                split.request()
                single.request()
        finally:
            split.close()
            single.close()
    except OSError as error:
        raise CouldNotRun(f"the tool's own client could not reach the tool's own server: {error}") from error
    return split.port, single.port


def run_fresh_control(url: str, *, body: int, ca_file: str | None, proxy: str | None) -> int:
    """One split request on a connection of its own; returns its client port. Raises CouldNotRun."""
    try:
        client = ControlClient(url, split=True, body=body, ca_file=ca_file, proxy=proxy)
        try:
            client.request()
        finally:
            client.close()
    except OSError as error:
        raise CouldNotRun(f"the tool's own client could not reach the tool's own server: {error}") from error
    return client.port
