"""One connection of the reference: connecting, writing, reading, each bounded by the call's deadline.

The socket does not block. Whoever sends also listens, so that an answer which comes before the whole request
was sent is heard (RFC 9112 9.5).
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from typing import Any

from onewrite_lab.tap.http1 import parse_response_head

from onewrite_conformance.reference.errors import CallError, Cancelled
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Connection", "Deadline", "Early"]

TCP_QUICKACK = 12
MAX_HEAD = 256 * 1024


class Early(Exception):
    """The peer says something while we are sending."""


class Deadline:
    """When a call must end, and how."""

    def __init__(self, timeout_ms: int | None, cancel_after_ms: int | None) -> None:
        now = time.monotonic()
        self.timeout = now + timeout_ms / 1000 if timeout_ms else None
        self.cancel = now + cancel_after_ms / 1000 if cancel_after_ms is not None else None

    def left(self) -> float | None:
        """Seconds left, None without a bound. Raises when there are none."""
        now = time.monotonic()
        if self.cancel is not None and now >= self.cancel:
            raise Cancelled
        if self.timeout is not None and now >= self.timeout:
            raise CallError("timeout", "the time limit of the call ran out")
        bounds = [bound - now for bound in (self.cancel, self.timeout) if bound is not None]
        return min(bounds) if bounds else None


class Connection:
    """A connection to an origin or a proxy."""

    def __init__(self, number: int, origin: tuple[str, str, int], quickack: bool = False) -> None:
        self.number, self.origin, self.quickack = number, origin, quickack
        self.requests = 0
        self.idle_since_ns = 0
        self.phases: dict[str, int] = {}
        self.writes = 0
        self.sock: socket.socket = socket.socket()
        self._buffer = bytearray()

    # -- making -------------------------------------------------------------------------------------------

    def connect(
        self,
        address: tuple[str, int],
        recorder: Recorder,
        deadline: Deadline,
        options: list[dict[str, Any]] | None,
        nodelay: bool,
        connect_timeout_ms: int | None,
        tunnel: str | None,
    ) -> None:
        """Resolve and connect, and ask for a tunnel to `tunnel`. The first address that answers is taken."""
        error: CallError | None = None
        for family, target in _resolve(address, recorder):
            try:
                self._connect_one(family, target, recorder, deadline, connect_timeout_ms, options, nodelay, tunnel)
                return
            except CallError as failed:
                if failed.kind != "connect":
                    raise
                error = failed
        assert error is not None
        raise error

    def _connect_one(
        self,
        family: int,
        target: tuple[Any, ...],
        recorder: Recorder,
        deadline: Deadline,
        connect_timeout_ms: int | None,
        options: list[dict[str, Any]] | None,
        nodelay: bool,
        tunnel: str | None,
    ) -> None:
        self.sock.close()
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        recorder.phase = "connect"
        start = recorder.event("connect_start")
        self._set_options(options, nodelay)
        limit = None if connect_timeout_ms is None else time.monotonic() + connect_timeout_ms / 1000
        self.sock.connect_ex(target)
        try:
            while not self._poll(deadline, write=True, limit=limit):
                pass
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise CallError("connect", f"connect to {target[0]}:{target[1]}: {OSError(code, '').errno}", "connect")
            if tunnel is not None:
                self._tunnel(tunnel, deadline)
        except CallError as error:
            recorder.event("connect_end", error=error.kind)
            raise
        self.phases["connect"] = recorder.event("connect_end") - start

    def _set_options(self, options: list[dict[str, Any]] | None, nodelay: bool) -> None:
        named = {option["name"] for option in options or ()}
        if nodelay and "TCP_NODELAY" not in named:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in options or ():
            if broken("lost_options"):
                continue
            level = socket.IPPROTO_TCP if option["name"].startswith("TCP_") else socket.SOL_SOCKET
            value = 1 if broken("overrides_user") and option["name"] == "TCP_NODELAY" else option["value"]
            self.sock.setsockopt(level, getattr(socket, option["name"]), value)

    def _tunnel(self, authority: str, deadline: Deadline) -> None:
        """Ask a proxy for a tunnel; until it stands the connection is being made."""
        self.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode(), deadline)
        try:
            status, _ = self.read_head(deadline)
        except CallError as error:
            if error.kind in ("reset", "closed", "protocol"):
                raise CallError("connect", f"the proxy broke off: {error}", "connect") from error
            raise
        if status != 200:
            raise CallError("connect", f"the proxy refused the tunnel with {status}", "connect")

    def start_tls(self, name: str, context: ssl.SSLContext, recorder: Recorder, deadline: Deadline) -> None:
        recorder.phase = "tls"
        start = recorder.event("tls_start")
        try:
            self.sock = context.wrap_socket(self.sock, server_hostname=name, do_handshake_on_connect=False)
            secure = self.sock
            while True:
                try:
                    secure.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    self._poll(deadline, read=True)
                except ssl.SSLWantWriteError:
                    self._poll(deadline, write=True)
        except (OSError, ssl.SSLError) as error:
            recorder.event("tls_end", error="tls")
            raise CallError("tls", f"TLS handshake: {error}", "tls") from error
        except CallError as error:
            recorder.event("tls_end", error=error.kind)
            raise
        self.phases["tls"] = recorder.event("tls_end") - start

    # -- writing ------------------------------------------------------------------------------------------

    def send(self, data: bytes | memoryview, deadline: Deadline, *, listen: bool = False) -> None:
        """Send all of it. With `listen`, raises Early when the peer speaks first."""
        view = memoryview(data)
        while view:
            if listen and not broken("deaf") and self.readable():
                raise Early
            try:
                sent = self.sock.send(view)
                self.writes += 1
                view = view[sent:]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._poll(deadline, write=True, read=listen and not broken("deaf"))
            except ssl.SSLWantReadError:
                self._poll(deadline, read=True)
            except OSError as error:
                if listen and self.readable():
                    raise Early from error
                raise _broken_pipe(error) from error

    def send_parts(self, head: bytes, body: memoryview, deadline: Deadline) -> None:
        """Send head and body in one call without joining them (plain sockets)."""
        try:
            sent = self.sock.sendmsg([head, body])
            self.writes += 1
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise _broken_pipe(error) from error
        if sent < len(head):
            self.send(head[sent:], deadline)
            sent = len(head)
        self.send(body[sent - len(head) :], deadline, listen=True)

    # -- reading ------------------------------------------------------------------------------------------

    def readable(self) -> bool:
        """Whether bytes or an end have come; TLS session tickets are not counted as such."""
        if self._buffer:
            return True
        if not select.select([self.sock], [], [], 0)[0]:
            return False
        if not isinstance(self.sock, ssl.SSLSocket):
            return True
        try:
            data = self.sock.recv(1 << 16)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            return True
        self._buffer += data
        return True

    def fill(self, deadline: Deadline) -> bool:
        """Read once, waiting for it; False at the end of the stream."""
        while True:
            if self.quickack:
                self.sock.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)
            try:
                data = self.sock.recv(1 << 16)
                self._buffer += data
                return bool(data)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._poll(deadline, read=True)
            except ssl.SSLEOFError:
                return False
            except OSError as error:
                raise CallError("reset", f"the peer reset the connection: {error}") from error

    def await_bytes(self, deadline: Deadline) -> None:
        """Wait for the first byte of an answer. Raises CallError("closed") at the end of the stream."""
        if not self._buffer and not self.fill(deadline):
            raise CallError("closed", "the peer closed before it answered")

    def status_class(self, deadline: Deadline) -> bytes:
        """The first digit of the status, as soon as it is there; b"" when this is no HTTP answer."""
        while len(self._buffer) < 10:
            if not b"HTTP/1.".startswith(self._buffer[:7]) or not self.fill(deadline):
                return b""
        return bytes(self._buffer[9:10])

    def version(self) -> str:
        """ "1.0" or "1.1", as far as it has come."""
        return "1.0" if self._buffer.startswith(b"HTTP/1.0") else "1.1"

    def read_head(self, deadline: Deadline) -> tuple[int, list[tuple[str, str]]]:
        """One response head. Raises CallError("protocol") for what is none."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise CallError("protocol", "the response head is longer than 256 KiB")
            if self._buffer and not b"HTTP/1.".startswith(self._buffer[:7]):
                raise CallError("protocol", f"no HTTP/1.1 answer: {bytes(self._buffer[:40])!r}")
            if not self.fill(deadline):
                raise CallError("closed", "the peer closed within the response head")
        head = bytes(self._buffer[: end + 4])
        del self._buffer[: end + 4]
        try:
            return parse_response_head(head)
        except ValueError as error:
            raise CallError("protocol", f"not an HTTP/1.1 response: {error}") from error

    def take(self, count: int, deadline: Deadline) -> bytes:
        """Exactly so many bytes. Raises CallError("closed") when there are fewer."""
        while len(self._buffer) < count:
            if not self.fill(deadline):
                if broken("truncation"):
                    break
                raise CallError("closed", f"the peer closed {count - len(self._buffer)} bytes early")
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def take_line(self, deadline: Deadline) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > 8192:
                raise CallError("protocol", "a chunk size line is longer than 8 KiB")
            if not self.fill(deadline):
                if broken("truncation"):
                    return b"0"
                raise CallError("closed", "the peer closed within a chunked body")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def take_rest(self, deadline: Deadline) -> bytes:
        while self.fill(deadline):
            pass
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    # -- waiting and ending -------------------------------------------------------------------------------

    def _poll(self, deadline: Deadline, *, read: bool = False, write: bool = False, limit: float | None = None) -> bool:
        left = deadline.left()
        if limit is not None:
            remaining = limit - time.monotonic()
            if remaining <= 0:
                raise CallError("timeout", "no connection in time", "connect")
            left = remaining if left is None else min(left, remaining)
        reading, writing, _ = select.select([self.sock] if read else [], [self.sock] if write else [], [], left)
        return bool(reading or writing)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()


def _resolve(address: tuple[str, int], recorder: Recorder) -> list[tuple[int, tuple[Any, ...]]]:
    host, port = address
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            socket.inet_pton(family, host)
            return [(family, (host, port))]
    recorder.phase = "dns"
    recorder.event("dns_start", host=host)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        recorder.event("dns_end", error="dns")
        raise CallError("dns", f"{host} does not resolve: {error}", "dns") from error
    recorder.event("dns_end")
    return [(entry[0], entry[4]) for entry in found]


def _broken_pipe(error: OSError) -> CallError:
    return CallError("reset", f"the peer reset the connection: {error}")
