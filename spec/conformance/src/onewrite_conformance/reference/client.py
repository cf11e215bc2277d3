"""The reference client: a pool, and calls made of attempts."""

from __future__ import annotations

import hashlib
import itertools
import ssl
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11

from onewrite_conformance.reference import evidence
from onewrite_conformance.reference.bodies import Body, make_body
from onewrite_conformance.reference.connection import Connection, Deadline, Origin
from onewrite_conformance.reference.errors import CallError, Cancelled
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.settings import Settings
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Client"]

RECORD = 16384
ASCII = "".join(map(chr, range(33, 127)))  # everything else in a target is percent-encoded
DELIVERED: dict[str, set[str]] = {"none": set(), "on_timing": {"record"}, "listener": {"events"}}  # others: both


@dataclass
class Answered:
    """A final response. `body` is None when it was not read."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | None = None

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class HookError(RuntimeError):
    """What a user's hook raises."""


class Client:
    """A client with a pool of `pool_size` connections per origin."""

    def __init__(self, kind: str, options: dict[str, Any]) -> None:
        self.settings = self._installed = Settings(kind, options)
        self.options = options
        self._delivered = DELIVERED.get(options.get("hooks", "none"), {"record", "events"})
        self._hook_errors = self._again = 0
        self._idle: list[Connection] = []
        self._busy: Counter[Origin] = Counter()
        self._free = threading.Condition()
        self._numbers = itertools.count(1)
        self._context = ssl.create_default_context(cafile=options.get("tls_ca"))

    def close(self) -> None:
        with self._free:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def api(self, do: str) -> dict[str, Any]:
        """Put in, take out, or remove the listener; return the state."""
        if do == "uninstall" and not broken("uninstall"):
            self.settings, self._delivered = Settings("stock", {}), set()
        elif do == "install" and not broken("installs_once"):
            self.settings = self._installed
            self._again += broken("again_fails")
        elif do == "remove":
            self._delivered = self._delivered - ({"events"} if not broken("handle") else {"record", "events"})
        if broken("state"):
            return {"in_force": True, "hooks": False, "hook_errors": 0}
        return {"in_force": self.settings.own, "hooks": bool(self._delivered), "hook_errors": self._hook_errors}

    # -- one call -----------------------------------------------------------------------------------------

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make one call and report it as the driver protocol wants."""
        delivered = self._delivered if self.settings.hooks else set()
        if (broken("lone_on_timing") and delivered == {"record"}) or (
            broken("lone_listener") and delivered == {"events"}
        ):
            delivered = set()
        recorder = Recorder(message["method"], message["url"], _hook(self.options["hooks"]) if delivered else None)
        started = time.monotonic_ns()
        body = make_body(message.get("body"))
        try:
            recorder.start_call()
            reply = _response(self._call(message, body, recorder))
            recorder.end_call("ok")
        except Cancelled as error:
            recorder.end_call("error" if broken("cancel_is_error") else "cancelled", error.kind, recorder.phase)
            reply = {"outcome": "cancelled", "error": _error(error, recorder)}
        except HookError as error:  # only with the raising_hook mutant
            reply = {"outcome": "error", "error": {"kind": "other", "type": "RuntimeError", "message": str(error)}}
        except CallError as error:
            recorder.end_call("error", None if broken("no_kind") else error.kind, recorder.phase)
            reply = {"outcome": "error", "error": _error(error, recorder)}
            if broken("error_class") and self.settings.own:
                reply["error"]["type"] = "OnewriteError"
            if broken("error_message") and self.settings.own:
                reply["error"]["message"] += ", by onewrite"
        reply["elapsed_us"] = (time.monotonic_ns() - started) // 1000
        reply["objects"] = {} if body.file is None else {"body_position": body.position(self.settings.own)}
        self._hook_errors += recorder.hook_errors
        if "record" in delivered and not (broken("hooks_replace") and self.options["hooks"] == "added"):
            reply |= {"timing": recorder.record(), "timings": 1 + self._again}
        if "events" in delivered:
            reply["events"] = recorder.events
        return reply

    def _call(self, message: dict[str, Any], body: Body, recorder: Recorder) -> Answered:
        deaf = broken("deaf") and self.settings.own
        deadline = Deadline(None if deaf else message.get("timeout_ms"), message.get("cancel_after_ms"))
        url = message["url"]
        while True:
            recorder.start_attempt()
            try:
                answered = self._attempt(recorder, deadline, message | {"url": url}, body)
            except CallError as error:
                recorder.end_attempt("cancelled" if error.kind == "cancelled" else "error", error.kind)
                if broken("dup_post") and self.settings.own and error.kind in ("reset", "closed"):
                    continue
                raise
            recorder.end_attempt("ok")
            location = answered.header("location")
            if not (self.options.get("redirects") and 300 < answered.status < 309 and location):
                return answered
            url, body = urllib.parse.urljoin(url, location), make_body(message.get("body"))

    # -- one attempt --------------------------------------------------------------------------------------

    def _attempt(self, recorder: Recorder, deadline: Deadline, message: dict[str, Any], body: Body) -> Answered:
        request = self._request(message, body)
        parts = urllib.parse.urlsplit(message["url"])
        origin = (parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        connection = self._acquire(origin, recorder, deadline)
        reusable = False
        try:
            answered = self._exchange(connection, request, body, leave=message.get("read") == "none")
            reusable = self._reusable(connection)
            return answered
        except Cancelled:
            if broken("reuse_given_up"):
                connection.http = h11.Connection(h11.CLIENT)
                reusable = True
            raise
        finally:
            recorder.event("connection_released", reusable=reusable or broken("always_reusable"))
            self._release(origin, connection, reusable)

    def _reusable(self, connection: Connection) -> bool:
        if not self.options.get("keepalive", True):
            return False
        http = connection.http
        if http.our_state is h11.DONE and http.their_state is h11.DONE and not http.trailing_data[0]:
            http.start_next_cycle()
            return True
        connection.http = h11.Connection(h11.CLIENT)
        return broken("kept_open") and self.settings.own

    def _acquire(self, origin: Origin, recorder: Recorder, deadline: Deadline) -> Connection:
        size = int(self.options.get("pool_size") or 1)
        recorder.phase = "queue"
        if broken("early_request_start"):
            recorder.event("request_start")
        with self._free:
            if self._busy[origin] >= size:
                recorder.event("queue_start" if not broken("no_queue") else "dns_start")
                if not self._free.wait_for(lambda: self._busy[origin] < size, deadline.left()):
                    raise deadline.error()
                recorder.event("queue_end" if not broken("no_queue") else "dns_end")
            self._busy[origin] += 1
            connection = self._idle_connection(origin)
        try:
            if connection is None:
                connection = self._connect(origin, recorder, deadline)
        except BaseException:
            self._release(origin, None, False)
            raise
        connection.recorder, connection.deadline = recorder, deadline
        number = 1 if broken("same_conn_id") else connection.number
        fields: dict[str, Any] = {"conn_id": number, "reused": connection.requests > 0}
        if connection.requests and recorder.on:
            since_ns = connection.made_ns if broken("idle_since_made") else connection.idle_since_ns
            fields["idle_ns"] = time.monotonic_ns() - since_ns
            recorder.connecting[recorder.attempt] = connection.phases
        connection.requests += 1
        if broken("out_of_order"):
            recorder.event("request_start")
        count = 1 if broken("one_conn_id") else connection.requests
        recorder.event("connection_acquired", **fields, conn_requests=count)
        return connection

    def _connect(self, origin: Origin, recorder: Recorder, deadline: Deadline) -> Connection:
        scheme, host, port = origin
        connection = Connection(next(self._numbers), origin, recorder, deadline, self.settings.quickack)
        proxy = urllib.parse.urlsplit(self.options.get("proxy") or "")
        address = (proxy.hostname, proxy.port or 80) if proxy.hostname else (host, port)
        late = broken("nodelay_after_handshake") and scheme == "https"
        nodelay = self.settings.nodelay and not broken("nodelay_late") and not late
        try:
            tunnel = f"{host}:{port}" if proxy.hostname and scheme == "https" else None
            if tunnel is not None and broken("connect_target") and self.settings.own:
                tunnel = "elsewhere.example:443"
            connection.connect(address, self.options.get("socket_options") or [], nodelay, tunnel)
            if scheme == "https":
                connection.start_tls(self._context)
            if late:
                connection.nodelay()
        except BaseException:
            connection.close()
            raise
        return connection

    def _idle_connection(self, origin: Origin) -> Connection | None:
        """The youngest idle connection that is still quiet: bytes or an end that came meanwhile discard it."""
        for connection in reversed([one for one in self._idle if one.origin == origin]):
            self._idle.remove(connection)
            if (broken("poison") and self.settings.own) or connection.quiet():
                return connection
            connection.close()
        return None

    def _release(self, origin: Origin, connection: Connection | None, reusable: bool) -> None:
        with self._free:
            self._busy[origin] -= 1
            if connection is not None:
                connection.idle_since_ns = time.monotonic_ns()
                if broken("nagle_again") and reusable:
                    connection.nodelay(False)
                if reusable:
                    self._idle.append(connection)
                else:
                    connection.close()
            self._free.notify()

    # -- the request --------------------------------------------------------------------------------------

    def _request(self, message: dict[str, Any], body: Body) -> h11.Request:
        method, url = message["method"], message["url"]
        parts = urllib.parse.urlsplit(url)
        rest = url.split("://", 1)[-1].partition("#")[0]
        at = min((rest.find(mark) for mark in "/?" if mark in rest), default=len(rest))
        target = urllib.parse.quote(rest[at:] if rest[at:].startswith("/") else "/" + rest[at:], safe=ASCII)
        authority = parts.netloc.rpartition("@")[2]
        if self.options.get("proxy") and parts.scheme == "http":
            target = f"http://{authority}{target}"
        fields = [(name, value) for name, value in message.get("headers") or ()]
        given = {name.lower() for name, _ in fields}
        if "host" not in given:
            fields.insert(0, ("Host", authority))
        if body.content_type and "content-type" not in given:
            fields.append(("Content-Type", body.content_type))
        if not given & {"content-length", "transfer-encoding"}:
            if body.pieces is not None and body.length is None:
                fields.append(("Transfer-Encoding", "chunked"))
            elif body.length is not None or method in ("POST", "PUT", "PATCH"):
                fields.append(("Content-Length", str(body.length or 0)))
        if not self.options.get("keepalive", True):
            fields.append(("Connection", "close"))
        if broken("byte_changed") and self.settings.own:
            fields = [(name.replace("X-", "x-"), value) for name, value in fields]
        try:
            return h11.Request(method=method, target=target, headers=fields)
        except (h11.LocalProtocolError, UnicodeEncodeError, ValueError) as error:
            raise CallError("other", str(error)) from error

    def _exchange(self, connection: Connection, request: h11.Request, body: Body, *, leave: bool) -> Answered:
        recorder = connection.recorder
        kernel = evidence.before(connection.sock) if recorder.on else None
        connection.writes, connection.first_ns = 0, 0
        recorder.phase = "send"
        if not broken("early_request_start") and not broken("out_of_order"):
            recorder.event("request_start")
        if broken("early_request_end"):
            recorder.event("request_end", bytes=0, writes=1)
        sent = [0]
        try:
            refused = self._send(connection, request, body, sent)
        except h11.LocalProtocolError as error:
            raise CallError("other", str(error)) from error
        if not broken("early_request_end"):
            recorder.event("request_end", bytes=sent[0] - broken("wrong_bytes"), writes=connection.writes)
        if broken("early_response_start"):
            recorder.event("response_start")
        recorder.phase = "wait"
        answered = self._read(connection, refused, kernel, leave=leave)
        if broken("nodelay_late") and self.settings.nodelay:
            connection.nodelay()
        return answered

    def _send(self, connection: Connection, request: h11.Request, body: Body, sent: list[int]) -> Any:
        """Send the request; return the final answer that came in place of 100 Continue, if one did."""
        http = connection.http
        head = http.send(request) or b""
        sent[0] += len(head)
        expects = any(name == b"expect" for name, _ in request.headers)
        if expects and not body.absent and not broken("expect_ignored"):
            connection.send(head)
            head = b""
            event = connection.next_event()
            if not isinstance(event, h11.InformationalResponse):
                return event
            connection.first_ns = 0
            connection.recorder.event("informational", status=event.status_code)
        if body.pieces is not None:
            self._send_stream(connection, head, body, sent)
            return None
        data = body.data or b""
        parts: list[Any] = list(http.send_with_data_passthrough(h11.Data(data=data)) or ()) if data else []
        parts = [part for part in [*parts, http.send(h11.EndOfMessage())] if part]
        sent[0] += sum(map(len, parts))
        self._send_joined(connection, head, parts[0] if len(parts) == 1 else b"".join(parts))
        return None

    def _send_joined(self, connection: Connection, head: bytes, data: bytes) -> None:
        """One write up to the limit. Beyond it nothing large is copied, and the first write has head and body."""
        split = broken("split") or (broken("split_limited") and connection.deadline.timeout is not None)
        limit = self.settings.limit
        if not data and broken("empty_write"):
            connection.send(head[:-2])
            connection.send(head[-2:])
        elif not self.settings.coalesce or split or limit == 0:
            connection.send(head)
            connection.send(data)
        elif len(head) + len(data) <= limit or broken("copies_large"):
            connection.send(head + data)
        elif broken("head_alone"):
            connection.send(head)
            connection.send(data)
        elif connection.origin[0] == "http":
            connection.send(head, memoryview(data))
        else:
            room = 1000 if broken("record_split") else max(0, RECORD - len(head))
            connection.send(head + data[:room])
            for at in range(room, len(data), RECORD):
                connection.send(memoryview(data)[at : at + RECORD])

    def _send_stream(self, connection: Connection, head: bytes, body: Body, sent: list[int]) -> None:
        """The source may block, so the head goes before the first piece is pulled (02-wire.md)."""
        assert body.pieces is not None
        held = [head] if broken("corks") else []
        if not held:
            connection.send(head)
        ended = False
        for piece, last in body.pieces:
            connection.deadline.left()
            data = connection.http.send(h11.Data(data=piece)) or b""
            if last and body.length is None and not broken("chunk_split"):
                data += connection.http.send(h11.EndOfMessage()) or b""
                ended = True
            sent[0] += len(data)
            if held:
                held.append(data)
            elif broken("chunk_split") and body.length is None:
                at = data.find(b"\r\n") + 2
                connection.send(data[:at])
                connection.send(data[at:])
            else:
                connection.send(data)
        end = b"" if ended else connection.http.send(h11.EndOfMessage()) or b""
        sent[0] += len(end)
        connection.send(b"".join([*held, end]))

    # -- the answer ---------------------------------------------------------------------------------------

    def _read(self, connection: Connection, event: Any, kernel: Any, *, leave: bool) -> Answered:
        """Read the answer, of which `event` was perhaps read already."""
        recorder = connection.recorder
        event = event or connection.next_event()
        while isinstance(event, h11.InformationalResponse):
            if broken("interim_ends_wait"):
                self._start(connection, kernel)
            recorder.event("informational", status=event.status_code)
            connection.first_ns = 0
            event = connection.next_event()
        if not broken("late_response_start"):
            self._start(connection, kernel)
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()]
        answered = Answered(event.status_code, fields)
        recorder.phase = "receive"
        if not broken("late_response_start"):
            recorder.event("headers_end", status=event.status_code)
        if leave:
            if broken("ends_unread"):
                recorder.event("response_end", bytes=0)
            return answered
        pieces = []
        while not isinstance(data := connection.next_event(), h11.EndOfMessage):
            pieces.append(bytes(data.data))
        answered.body = b"".join(pieces)
        if broken("late_response_start"):
            self._start(connection, kernel)
            recorder.event("headers_end", status=event.status_code)
        recorder.event("response_end", bytes=len(answered.body))
        return answered

    def _start(self, connection: Connection, kernel: Any) -> None:
        recorder = connection.recorder
        if not recorder.on or any(one["name"] == "response_start" for one in recorder.mine()):
            return
        at_ns = 0 if broken("late_response_start") else connection.first_ns
        started_ns = recorder.event("response_start", at_ns=at_ns)
        if kernel is not None:
            evidence.after(connection.sock, kernel, recorder, started_ns)


def _hook(hooks: str) -> Callable[[dict[str, Any]], None]:
    def raising(event: dict[str, Any]) -> None:
        raise HookError(f"the user's hook fails on {event['name']}")

    return raising if hooks == "raising" else lambda event: None


def _response(answered: Answered) -> dict[str, Any]:
    reply = {"outcome": "response", "status": answered.status, "headers": [list(pair) for pair in answered.headers]}
    if answered.body is not None:
        reply |= {"body_bytes": len(answered.body), "body_sha256": hashlib.sha256(answered.body).hexdigest()}
    return reply


def _error(error: CallError, recorder: Recorder) -> dict[str, Any]:
    names = {"type": type(error).__name__ + f".{error.kind}", "message": str(error), "also": ["Exception"]}
    return {"kind": error.kind, "phase": recorder.phase, **names}
