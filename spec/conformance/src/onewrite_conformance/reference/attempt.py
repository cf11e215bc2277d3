"""One attempt of the reference: get a connection, write the request as 02-wire.md says, read the answer."""

from __future__ import annotations

import re
import socket
import ssl
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any

from onewrite_lab.witness.tcpinfo import TcpInfo

from onewrite_conformance.reference import evidence
from onewrite_conformance.reference.bodies import Body
from onewrite_conformance.reference.connection import Connection, Deadline, Early
from onewrite_conformance.reference.errors import CallError
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.settings import Settings
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Answered", "Attempt"]

RECORD = 16384
ASCII = "".join(map(chr, range(128)))  # everything else in a target is percent-encoded, as clients do
CONTINUE_WAIT_MS = 1000


@dataclass
class Answered:
    """A final response. `body` is None when it was not read."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | None
    version: str = "1.1"

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Attempt:
    """Writes one request on one connection and reads its answer."""

    def __init__(self, settings: Settings, options: dict[str, Any], recorder: Recorder, deadline: Deadline) -> None:
        self.settings, self.options = settings, options
        self.recorder, self.deadline = recorder, deadline
        self.reused = False
        self.heard = False  # a byte of an answer has come
        self.reusable = False
        self._response_start_ns = 0

    # -- the connection -----------------------------------------------------------------------------------

    def connect(self, number: int, origin: tuple[str, str, int], context: ssl.SSLContext) -> Connection:
        scheme, host, port = origin
        connection = Connection(number, origin, self.settings.quickack)
        proxy = self.options.get("proxy")
        address = (host, port)
        if proxy:
            parts = urllib.parse.urlsplit(proxy)
            address = (parts.hostname or "", parts.port or 80)
        nodelay = self.settings.nodelay and not broken("nodelay_late")
        late = broken("nodelay_after_handshake") and scheme == "https"
        wait_ms = self.options.get("connect_timeout_ms")
        try:
            tunnel = f"{host}:{port}" if proxy and scheme == "https" else None
            options = self.options.get("socket_options")
            connection.connect(address, self.recorder, self.deadline, options, nodelay and not late, wait_ms, tunnel)
            if scheme == "https":
                connection.start_tls(host, context, self.recorder, self.deadline)
            if late:
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def acquired(self, connection: Connection) -> None:
        self.reused = connection.requests > 0
        fields: dict[str, Any] = {"conn_id": connection.number, "reused": self.reused}
        if self.reused and self.recorder.on:
            fields["idle_ns"] = time.monotonic_ns() - connection.idle_since_ns
            self.recorder.connecting[self.recorder.attempt] = connection.phases
        connection.requests += 1
        fields["conn_requests"] = connection.requests
        self.recorder.event("connection_acquired", **fields)

    # -- the exchange -------------------------------------------------------------------------------------

    def exchange(
        self, connection: Connection, method: str, url: str, headers: list[list[str]], body: Body, *, leave: bool
    ) -> Answered:
        head = self._head(method, url, headers, body)
        kernel = evidence.before(connection.sock) if self.recorder.on else None
        connection.writes = 0
        self.recorder.phase = "send"
        self.recorder.event("request_start")
        whole = True
        sent = len(head)
        try:
            sent += self._send(connection, head, headers, body)
        except Early:
            whole = False
        self.recorder.event("request_end", bytes=sent, writes=connection.writes)
        if broken("early_response_start"):
            self.recorder.event("response_start")
        self.recorder.phase = "wait"
        answered = self._read(connection, method, kernel, leave=leave)
        if broken("nodelay_late") and self.settings.nodelay:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = (answered.header("connection") or "").lower()
        closing = "close" in options or (answered.version == "1.0" and "keep-alive" not in options)
        self.reusable = (whole or broken("reuse_early")) and not closing and self.reusable
        return answered

    def _head(self, method: str, url: str, headers: list[list[str]], body: Body) -> bytes:
        match = re.match(r"(https?)://([^/?#]*)([^#]*)", url, re.S)
        assert match is not None
        scheme, authority, target = match.groups()
        target = urllib.parse.quote(target if target.startswith("/") else "/" + target, safe=ASCII)
        if self.options.get("proxy") and scheme == "http":
            target = f"{scheme}://{authority}{target}"
        given = {name.lower() for name, _ in headers}
        lines = [f"{method} {target} HTTP/1.1"]
        if "host" not in given:
            lines.append(f"Host: {authority}")
        lines += [f"{name}: {value}" for name, value in headers]
        if body.content_type and "content-type" not in given:
            lines.append(f"Content-Type: {body.content_type}")
        if method == "DELETE" and broken("unframed_delete"):
            pass
        elif "content-length" not in given and "transfer-encoding" not in given:
            if body.length is not None:
                lines.append(f"Content-Length: {body.length}")
            elif body.pieces is not None:
                lines.append("Transfer-Encoding: chunked")
            elif method in ("POST", "PUT", "PATCH"):
                lines.append("Content-Length: 0")
        elif broken("both_framings") and body.length is not None and "content-length" not in given:
            lines.append(f"Content-Length: {body.length}")
        if not self.options.get("keepalive", True):
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    # -- writing ------------------------------------------------------------------------------------------

    def _send(self, connection: Connection, head: bytes, headers: list[list[str]], body: Body) -> int:
        """Send head and body; return the bytes of the body as they went out."""
        expects = any(name.lower() == "expect" and value.lower() == "100-continue" for name, value in headers)
        if expects and not body.absent and not broken("expect_ignored"):
            connection.send(head, self.deadline)
            self._await_continue(connection)
            head = b""
        if body.pieces is not None:
            return self._send_stream(connection, head, body)
        data = body.data or b""
        if broken("empty_write") and not data and head:
            connection.send(head[:-2], self.deadline)
            connection.send(head[-2:], self.deadline)
        elif not data:
            connection.send(head, self.deadline)
        elif not self.settings.coalesce or self._splits():
            connection.send(head, self.deadline)
            connection.send(data, self.deadline, listen=True)
        else:
            self._send_joined(connection, head, data)
        return len(data)

    def _splits(self) -> bool:
        """Whether a mutant has it write head and body apart."""
        limited = self.deadline.timeout is not None
        return broken("split") or broken("split_limited" if limited else "split_unlimited")

    def _send_joined(self, connection: Connection, head: bytes, data: bytes) -> None:
        """Up to the limit: one write. Beyond it nothing large is copied and the head still does not go alone."""
        limit = self.settings.limit
        if len(head) + len(data) <= limit or broken("copies_large"):
            connection.send(head + data, self.deadline)
        elif limit == 0 or broken("head_alone"):
            connection.send(head, self.deadline)
            connection.send(data, self.deadline, listen=True)
        elif connection.origin[0] == "http":
            connection.send_parts(head, memoryview(data), self.deadline)
        else:
            room = 1000 if broken("record_split") else max(0, RECORD - len(head))
            connection.send(head + data[:room], self.deadline)
            view = memoryview(data)[room:]
            while view:
                connection.send(view[:RECORD], self.deadline, listen=True)
                view = view[RECORD:]

    def _send_stream(self, connection: Connection, head: bytes, body: Body) -> int:
        """The source may block, so the head goes before the first piece is pulled (02-wire.md)."""
        assert body.pieces is not None
        if head:
            connection.send(head, self.deadline)
        total = 0
        ended = False
        for piece, last in body.pieces:
            self.deadline.left()
            total += len(piece)
            if body.length is not None:
                if total > body.length and not broken("wrong_length"):
                    raise CallError("invalid_request", f"the stream is longer than its Content-Length {body.length}")
                connection.send(piece, self.deadline, listen=True)
            elif broken("chunk_split"):
                connection.send(b"%x\r\n" % len(piece), self.deadline, listen=True)
                connection.send(piece + b"\r\n", self.deadline, listen=True)
            else:
                ended = last
                end = b"0\r\n\r\n" if last else b""
                connection.send(b"%x\r\n%s\r\n%s" % (len(piece), piece, end), self.deadline, listen=True)
        if body.length is None and not ended:
            connection.send(b"0\r\n\r\n", self.deadline, listen=True)
        if body.length is not None and total < body.length and not broken("wrong_length"):
            raise CallError("invalid_request", f"the stream ended {body.length - total} bytes early")
        return total

    def _await_continue(self, connection: Connection) -> None:
        """Wait for 100 (or a while); raises Early when a final answer comes instead."""
        patience = Deadline(CONTINUE_WAIT_MS, None)
        patience.cancel = self.deadline.cancel
        if self.deadline.timeout is not None and patience.timeout is not None:
            patience.timeout = min(patience.timeout, self.deadline.timeout)
        try:
            connection.await_bytes(patience)
        except CallError as error:
            if error.kind != "timeout":
                raise
            self.deadline.left()
            return
        while connection.status_class(self.deadline) == b"1":
            status, _ = connection.read_head(self.deadline)
            self.recorder.event("informational", status=status)
            if status == 100:
                return
            connection.await_bytes(self.deadline)
        raise Early

    # -- reading ------------------------------------------------------------------------------------------

    def _read(self, connection: Connection, method: str, kernel: TcpInfo | None, *, leave: bool) -> Answered:
        while True:
            connection.await_bytes(self.deadline)
            first_ns = self.recorder.now()
            self.heard = True
            if connection.status_class(self.deadline) != b"1" or broken("interim_ends_wait"):
                self._response_started(connection, kernel, first_ns)
            version = connection.version()
            status, headers = connection.read_head(self.deadline)
            if not 100 <= status < 200:
                break
            if status == 101:
                raise CallError("protocol", "the peer switched protocols unasked")
            self.recorder.event("informational", status=status)
            if broken("server_timing_interim"):
                self._server_timing(headers)
        self._server_timing(headers)
        answered = Answered(status, headers, None, version)
        self.recorder.phase = "receive"
        if leave:
            self.recorder.event("headers_end", status=status)
            self.reusable = False
            return answered
        if not broken("late_response_start"):
            self.recorder.event("headers_end", status=status)
        answered.body = self._body(connection, method, answered)
        if broken("late_response_start"):
            self._start(connection, kernel)
            self.recorder.event("headers_end", status=status)
        self.recorder.event("response_end", bytes=len(answered.body))
        return answered

    def _server_timing(self, headers: list[tuple[str, str]]) -> None:
        """Keep what the server says of its own time for the record."""
        if not self.recorder.on:
            return
        fields = [value for name, value in headers if name.lower() == "server-timing"]
        if broken("server_timing_old") and not fields:
            fields = self.recorder.server_timing.get(self.recorder.attempt - 1, [])
        self.recorder.server_timing.setdefault(self.recorder.attempt, []).extend(fields)

    def _response_started(self, connection: Connection, kernel: TcpInfo | None, first_ns: int) -> None:
        if self._response_start_ns or broken("late_response_start") or broken("early_response_start"):
            return
        self._start(connection, kernel, first_ns)

    def _start(self, connection: Connection, kernel: TcpInfo | None, first_ns: int = 0) -> None:
        self._response_start_ns = self.recorder.event("response_start", at_ns=first_ns)
        if kernel is not None:
            evidence.after(connection.sock, kernel, self.recorder, self._response_start_ns)

    def _body(self, connection: Connection, method: str, answered: Answered) -> bytes:
        """The body as RFC 9112 6.3 frames it; what it forbids is refused."""
        lengths = [value for name, value in answered.headers if name.lower() == "content-length"]
        codings = [value.lower() for name, value in answered.headers if name.lower() == "transfer-encoding"]
        if lengths and codings:
            raise CallError("protocol", "Content-Length and Transfer-Encoding together")
        if len(set(lengths)) > 1 or any(not re.fullmatch("[0-9]{1,18}", value) for value in lengths):
            raise CallError("protocol", f"Content-Length {lengths}")
        self.reusable = True
        if (method == "HEAD" and not broken("head_body")) or answered.status in (204, 304):
            return b""
        if codings:
            if codings != ["chunked"]:
                raise CallError("protocol", f"Transfer-Encoding {codings}")
            return self._chunked(connection)
        if lengths:
            return connection.take(int(lengths[0]), self.deadline)
        self.reusable = False
        return connection.take_rest(self.deadline)

    def _chunked(self, connection: Connection) -> bytes:
        pieces = []
        while True:
            line = connection.take_line(self.deadline)
            match = re.fullmatch(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?", line)
            if match is None:
                raise CallError("protocol", f"chunk size line {line[:40]!r}")
            size = int(match.group(1), 16)
            if size == 0:
                break
            pieces.append(connection.take(size, self.deadline))
            if connection.take(2, self.deadline) != b"\r\n" and not broken("truncation"):
                raise CallError("protocol", "a chunk does not end in CR LF")
        while connection.take_line(self.deadline) not in (b"", b"0"):
            pass
        return b"".join(pieces)
