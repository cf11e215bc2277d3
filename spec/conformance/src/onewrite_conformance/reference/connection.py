"""One connection of the reference: a blocking socket, and h11 for the form of what goes over it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import h11

from onewrite_conformance.reference.errors import CallError, Cancelled
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Connection", "Deadline", "Origin"]

TCP_QUICKACK = 12
Origin = tuple[str, str, int]


class Deadline:
    """When a call must end, and how."""

    def __init__(self, timeout_ms: int | None, cancel_after_ms: int | None) -> None:
        now = time.monotonic()
        self.timeout = now + timeout_ms / 1000 if timeout_ms else None
        self.cancel = now + cancel_after_ms / 1000 if cancel_after_ms is not None else None

    def left(self) -> float | None:
        """Seconds left, None without a limit. Raises when there are none."""
        bounds = [bound for bound in (self.cancel, self.timeout) if bound is not None]
        if not bounds:
            return None
        seconds = min(bounds) - time.monotonic()
        if seconds <= 0:
            raise self.error()
        return seconds

    def error(self) -> CallError:
        """What ends a call that has no time left."""
        if self.timeout is None or (self.cancel is not None and self.cancel < self.timeout):
            return Cancelled()
        return CallError("timeout", "the time limit of the call ran out")


class Connection:
    """A connection to an origin, direct or through a proxy."""

    def __init__(self, number: int, origin: Origin, recorder: Recorder, deadline: Deadline, quickack: bool) -> None:
        self.number, self.origin = number, origin
        self.recorder, self.deadline, self._quickack = recorder, deadline, quickack
        self.requests = self.idle_since_ns = self.writes = 0
        self.made_ns = time.monotonic_ns()
        self.phases: dict[str, int] = {}
        self.first_ns = 0  # when the first byte of the next message was read
        self.sock = socket.socket()
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 18)

    @contextlib.contextmanager
    def _limited(self, kind: str) -> Iterator[None]:
        """A step on the socket within the limits of the call. What goes wrong is an error of this kind."""
        self.sock.settimeout(self.deadline.left())
        try:
            yield
        except TimeoutError as error:
            raise self.deadline.error() from error
        except OSError as error:
            raise CallError(kind, str(error)) from error

    # -- making -------------------------------------------------------------------------------------------

    def connect(
        self, address: tuple[str, int], options: list[dict[str, Any]], nodelay: bool, tunnel: str | None
    ) -> None:
        """Resolve the name, connect, and open a tunnel to `tunnel`."""
        host = self._resolve(address[0])
        if nodelay and "TCP_NODELAY" not in {option["name"] for option in options}:
            self.nodelay()
        for option in options if not broken("lost_options") else ():
            level = socket.IPPROTO_TCP if option["name"].startswith("TCP_") else socket.SOL_SOCKET
            value = 1 if broken("overrides_user") and option["name"] == "TCP_NODELAY" else option["value"]
            self.sock.setsockopt(level, getattr(socket, option["name"]), value)
        with self._phase("connect"):
            with self._limited("connect"):
                self.sock.connect((host, address[1]))
            if tunnel is not None and not broken("connect_without_tunnel"):
                self._tunnel(tunnel)
        if tunnel is not None and broken("connect_without_tunnel"):
            self._tunnel(tunnel)

    @contextlib.contextmanager
    def _phase(self, name: str, **fields: Any) -> Iterator[None]:
        self.recorder.phase = name
        start = self.recorder.event(f"{name}_start", **fields)
        try:
            yield
        except CallError as error:
            self.recorder.event(f"{name}_end", error=error.kind)
            raise
        self.phases[name] = self.recorder.event(f"{name}_end") - start

    def _resolve(self, host: str) -> str:
        if host[0].isdigit():
            return host
        with self._phase("dns", host=host), self._limited("dns"):
            return socket.gethostbyname(host)

    def nodelay(self, on: bool = True) -> None:
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, on)

    def _tunnel(self, authority: str) -> None:
        """Open a tunnel through a proxy; it is part of connecting."""
        own, self.http = self.http, h11.Connection(h11.CLIENT)
        request = h11.Request(method="CONNECT", target=authority, headers=[("Host", authority)])
        self.send((self.http.send(request) or b"") + (self.http.send(h11.EndOfMessage()) or b""))
        answer = self.next_event()
        if answer.status_code != 200:
            raise CallError("connect", f"the proxy refused the tunnel with {answer.status_code}")
        self.http = own

    def start_tls(self, context: ssl.SSLContext) -> None:
        with self._phase("tls"), self._limited("tls"):
            self.sock = context.wrap_socket(self.sock, server_hostname=self.origin[1])

    # -- writing and reading ------------------------------------------------------------------------------

    def send(self, data: bytes | memoryview, more: memoryview | None = None) -> None:
        """Send in one write; `more` is not copied (plain sockets only)."""
        if not data:
            return
        self.writes += 1
        with self._limited("reset"):
            if more is None:
                self.sock.sendall(data)
            else:
                self.sock.sendall(more[self.sock.sendmsg([data, more]) - len(data) :])

    def quiet(self) -> bool:
        """Whether neither bytes nor the end came meanwhile. TLS session tickets are neither."""
        self.sock.settimeout(0)
        try:
            self.sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def next_event(self) -> Any:
        """The next event of h11. Raises CallError("closed") or CallError("protocol")."""
        while True:
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError as error:
                ended = self.http.trailing_data[1]
                raise CallError("closed" if ended else "protocol", str(error)) from error
            if isinstance(event, h11.ConnectionClosed):
                raise CallError("closed", "the peer closed before it answered")
            if event is not h11.NEED_DATA:
                return event
            if self._quickack and not broken("quickack"):
                self.sock.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)
            with self._limited("reset"):
                data = self.sock.recv(1 << 18)
            if not self.first_ns and data:
                self.first_ns = time.monotonic_ns()
            self.http.receive_data(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()
