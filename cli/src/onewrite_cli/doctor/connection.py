"""The four ways to send the same request, and one connection of each: dial, proxy, TLS, and the writes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import authority
from onewrite_cli.common.response import BadResponse, Response, read_response
from onewrite_cli.doctor.request import Route

__all__ = ["ARMS", "ONE", "QUICK", "SPLIT", "SPLIT_NODELAY", "Arm", "Connection", "protocols_of", "tls_context"]


@dataclass(frozen=True)
class Arm:
    key: str
    name: str
    split: bool
    nodelay: bool
    quickack: bool = False  # every segment of the answer is acknowledged at once


SPLIT = Arm("split_nagle", "two writes, Nagle on", split=True, nodelay=False)
SPLIT_NODELAY = Arm("split_nodelay", "two writes, TCP_NODELAY", split=True, nodelay=True)
ONE = Arm("one_write", "one write", split=False, nodelay=True)
QUICK = Arm("one_write_quickack", "one write, quick ACKs", split=False, nodelay=True, quickack=True)
ARMS = (SPLIT, SPLIT_NODELAY, ONE, QUICK)


def tls_context(ca_file: Path | None, protocols: list[str]) -> ssl.SSLContext:
    """The system's authorities, or those of the file. Raises CouldNotRun."""
    try:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except (OSError, ssl.SSLError) as error:
        raise CouldNotRun(f"{ca_file}: {error}") from error
    context.set_alpn_protocols(protocols)
    return context


class Connection:
    """Open when made. Raises CouldNotRun when it cannot be."""

    def __init__(self, route: Route, arm: Arm, context: ssl.SSLContext | None, timeout_s: float) -> None:
        self.arm = arm
        self.deadline = time.monotonic() + timeout_s
        self.protocol: str | None = None
        try:
            self.socket = socket.create_connection(route.address, timeout=timeout_s)
        except OSError as error:
            raise CouldNotRun(f"{route.first_hop} does not take a connection: {error.strerror or error}") from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(arm.nodelay))
        try:
            if route.proxy is not None and route.tls:
                self._tunnel(route)
            if context is not None:
                self.socket = secure = context.wrap_socket(self.socket, server_hostname=route.host)
                self.protocol = secure.selected_alpn_protocol()
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise CouldNotRun(f"the certificate of {route.host} is not trusted: {error.verify_message}") from error
        except OSError as error:
            self.close()
            raise CouldNotRun(f"no TLS connection to {route.host} through {route.first_hop}: {error}") from error

    def _tunnel(self, route: Route) -> None:
        where = authority(route.host, route.port)
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        if route.proxy_authorization:
            lines.append(f"Proxy-Authorization: {route.proxy_authorization}")
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        # A successful CONNECT has no body, whatever its headers say (RFC 9110, 9.3.6): HEAD reads it that way.
        response = self.read("HEAD")
        if not 200 <= response.status < 300:
            raise BadResponse(f"the proxy answers CONNECT with status {response.status}")

    def begin(self, timeout_s: float) -> None:
        """A request begins: it and its answer have so long."""
        self.deadline = time.monotonic() + timeout_s

    def write(self, data: bytes) -> None:
        self.socket.settimeout(max(0.001, self.deadline - time.monotonic()))
        self.socket.sendall(data)

    def read(self, method: str) -> Response:
        return read_response(self.socket, method, self.deadline, quick=self.arm.quickack or None)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()


def protocols_of(route: Route, ca_file: Path | None, timeout_s: float) -> list[str]:
    """Which HTTP versions a TLS server speaks, by ALPN (RFC 7301). Raises CouldNotRun when there is no TLS."""
    connection = Connection(route, ONE, tls_context(ca_file, ["h2", "http/1.1"]), timeout_s)
    chosen = connection.protocol
    connection.close()
    if chosen != "h2":
        return ["http/1.1"]
    try:
        connection = Connection(route, ONE, tls_context(ca_file, ["http/1.1"]), timeout_s)
    except CouldNotRun:  # no_application_protocol (RFC 7301, 3.2)
        return ["h2"]
    chosen = connection.protocol
    connection.close()
    return ["h2", "http/1.1"] if chosen == "http/1.1" else ["h2"]
