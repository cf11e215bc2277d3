"""One connection of the reference: a socket, and h11 for the form of what goes over it.

The socket does not block. Whoever sends also listens, so that an answer which comes before the whole request was sent
is heard (RFC 9112 9.5).
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

import h11

from onewrite_conformance.reference.errors import CallError, Cancelled
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Connection", "Deadline", "Early", "Origin"]

TCP_QUICKACK = 12
Origin = tuple[str, str, int]


class Early(Exception):
    """The peer sends bytes before the request is complete."""


class Deadline:
    """When a call must end, and how."""

    def __init__(self, timeout_ms: int | None, cancel_after_ms: int | None) -> None:
        now = time.monotonic()
        self.timeout = now + timeout_ms / 1000 if timeout_ms else None
        self.cancel = now + cancel_after_ms / 1000 if cancel_after_ms is not None else None

    def left(self, limit: float | None = None) -> float | None:
        """Seconds left, None without a bound; `limit` is a further one. Raises when there are none."""
        now = time.monotonic()
        if self.cancel is not None and now >= self.cancel:
            raise Cancelled
        if self.timeout is not None and now >= self.timeout:
            raise CallError("timeout", "the time limit of the call ran out")
        if limit is not None and now >= limit:
            raise CallError("timeout", "the time limit of this step ran out")
        bounds = [bound - now for bound in (self.cancel, self.timeout, limit) if bound is not None]
        return min(bounds) if bounds else None


class Connection:
    """A connection to an origin or a proxy. `limit` bounds its making (CLOCK_MONOTONIC seconds)."""

    def __init__(
        self, number: int, origin: Origin, recorder: Recorder, deadline: Deadline, limit: float | None
    ) -> None:
        self.number, self.origin = number, origin
        self.recorder, self.deadline, self._limit = recorder, deadline, limit
        self.quickack = False
        self.requests = self.idle_since_ns = self.writes = 0
        self.phases: dict[str, int] = {}
        self.first_ns = 0  # when the first byte of the next message was read
        self.sock = socket.socket()
        self._unread = b""
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 18)

    # -- making -------------------------------------------------------------------------------------------

    def connect(
        self, address: tuple[str, int], options: list[dict[str, Any]], nodelay: bool, tunnel: str | None
    ) -> None:
        """Resolve the name, connect to the first address that answers, and open a tunnel to `tunnel`."""
        targets = self._resolve(address)
        for at, (family, target) in enumerate(targets):
            self.sock.close()
            self.sock = socket.socket(family, socket.SOCK_STREAM)
            self.sock.setblocking(False)
            self._set_options(options, nodelay)
            start = self._begin("connect")
            try:
                self.sock.connect_ex(target)
                while not self._poll(write=True):
                    pass
                code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code:
                    raise CallError("connect", f"connect to {address[0]}:{address[1]}: error {code}")
                if tunnel is not None and not broken("connect_without_tunnel"):
                    self._tunnel(tunnel)
            except CallError as error:
                self.recorder.event("connect_end", error=error.kind)
                if error.kind == "connect" and at + 1 < len(targets):
                    continue
                raise
            self.phases["connect"] = self.recorder.event("connect_end") - start
            if tunnel is not None and broken("connect_without_tunnel"):
                self._tunnel(tunnel)
            return

    def _begin(self, phase: str, **fields: Any) -> int:
        self.recorder.phase = phase
        return self.recorder.event(f"{phase}_start", **fields)

    def _resolve(self, address: tuple[str, int]) -> list[tuple[int, tuple[Any, ...]]]:
        for family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(OSError):
                socket.inet_pton(family, address[0])
                return [(family, address)]
        self._begin("dns", host=address[0])
        try:
            found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        except OSError as error:
            self.recorder.event("dns_end", error="dns")
            raise CallError("dns", f"{address[0]} does not resolve: {error}") from error
        self.recorder.event("dns_end")
        return [(entry[0], entry[4]) for entry in found]

    def _set_options(self, options: list[dict[str, Any]], nodelay: bool) -> None:
        if nodelay and "TCP_NODELAY" not in {option["name"] for option in options}:
            self.nodelay()
        for option in options if not broken("lost_options") else ():
            level = socket.IPPROTO_TCP if option["name"].startswith("TCP_") else socket.SOL_SOCKET
            value = 1 if broken("overrides_user") and option["name"] == "TCP_NODELAY" else option["value"]
            self.sock.setsockopt(level, getattr(socket, option["name"]), value)

    def nodelay(self) -> None:
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _tunnel(self, authority: str) -> None:
        """Open a tunnel through a proxy; it is part of connecting."""
        proxy = h11.Connection(h11.CLIENT)
        own, self.http = self.http, proxy
        request = h11.Request(method="CONNECT", target=authority, headers=[("Host", authority)])
        try:
            self.send([proxy.send(request) or b"", proxy.send(h11.EndOfMessage()) or b""])
            answer = self.next_event()
        except CallError as error:
            if error.kind in ("reset", "closed", "protocol"):
                raise CallError("connect", f"the proxy broke off: {error}") from error
            raise
        if answer.status_code != 200:
            raise CallError("connect", f"the proxy refused the tunnel with {answer.status_code}")
        self.http = own

    def start_tls(self, context: ssl.SSLContext) -> None:
        start = self._begin("tls")
        try:
            secure = context.wrap_socket(self.sock, server_hostname=self.origin[1], do_handshake_on_connect=False)
            self.sock = secure
            while True:
                try:
                    secure.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    self._poll(read=True)
                except ssl.SSLWantWriteError:
                    self._poll(write=True)
        except OSError as error:
            self.recorder.event("tls_end", error="tls")
            raise CallError("tls", f"TLS handshake: {error}") from error
        except CallError as error:
            self.recorder.event("tls_end", error=error.kind)
            raise
        self.phases["tls"] = self.recorder.event("tls_end") - start

    def made(self) -> None:
        self._limit = None

    # -- writing ------------------------------------------------------------------------------------------

    def send(self, parts: Sequence[bytes | memoryview], *, listen: bool = False) -> None:
        """Send the parts in one call where they fit. With `listen`, raises Early when the peer speaks first."""
        views = [memoryview(part) for part in parts if len(part)]
        while views:
            if listen and self.readable():
                raise Early
            try:
                plain = len(views) > 1 and not isinstance(self.sock, ssl.SSLSocket)
                sent = self.sock.sendmsg(views) if plain else self.sock.send(views[0])
                self.writes += 1
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._poll(write=True, read=listen)
                continue
            except ssl.SSLWantReadError:
                self._poll(read=True)
                continue
            except OSError as error:
                if listen and self.readable():
                    raise Early from error
                raise CallError("reset", f"the peer reset the connection: {error}") from error
            while views and sent >= len(views[0]):
                sent -= len(views.pop(0))
            if views:
                views[0] = views[0][sent:]

    # -- reading ------------------------------------------------------------------------------------------

    def readable(self) -> bool:
        """Whether something has come, or the end. TLS session tickets are neither."""
        if self._unread:
            return True
        if not isinstance(self.sock, ssl.SSLSocket):
            return bool(select.select([self.sock], [], [], 0)[0])
        try:
            self._unread = self.sock.recv(1 << 18)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            pass
        return True

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
            data = self._read()
            if not self.first_ns and data:
                self.first_ns = time.monotonic_ns()
            self.http.receive_data(data)

    def await_bytes(self, limit: float | None = None) -> bool:
        """Wait until something can be read. False when `limit` is over."""
        while not self.readable():
            try:
                self._poll(read=True, limit=limit)
            except CallError as error:
                if error.kind == "timeout" and limit is not None and time.monotonic() >= limit:
                    self.deadline.left()
                    return False
                raise
        return True

    def _read(self) -> bytes:
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        while True:
            if self.quickack and not broken("quickack"):
                self.sock.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)
            try:
                return self.sock.recv(1 << 18)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._poll(read=True)
            except ssl.SSLWantWriteError:
                self._poll(write=True)
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""
            except OSError as error:
                raise CallError("reset", f"the peer reset the connection: {error}") from error

    def _poll(self, *, read: bool = False, write: bool = False, limit: float | None = None) -> bool:
        left = self.deadline.left(self._limit if limit is None else limit)
        reading, writing, _ = select.select([self.sock] if read else [], [self.sock] if write else [], [], left)
        return bool(reading or writing)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()
