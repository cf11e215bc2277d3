"""An attempt while it runs: each method takes a time, and tells the listener.

A seam calls them in the order of spec/events.yaml. Nothing here depends on the base library: a connection is a
``Connection`` and its socket.
"""

from __future__ import annotations

import time
import typing

from . import cause, kernel, server_timing
from .connection import Connection
from .events import Event
from .record import Attempt, made, phases

if typing.TYPE_CHECKING:
    from .call import LiveCall

now = time.monotonic_ns


class LiveAttempt:
    """The first try of a call, or one for each retry and redirect."""

    __slots__ = (
        "at", "awaiting", "bytes_received", "bytes_sent", "call", "conn_requests", "connecting", "connection",
        "ended", "error", "expected", "http_response", "idle_ns", "index", "info_after", "info_before", "info_sent",
        "listener", "may_nagle", "outcome", "phase", "response", "reused", "server_timing", "status", "writes",
    )  # fmt: skip

    def __init__(self, call: LiveCall, index: int, start: int) -> None:
        #: None after the end of the call.
        self.call: LiveCall | None = call
        self.listener = call.listener
        self.index = index
        #: Monotonic time of each event, by its name.
        self.at = {"attempt_start": start}
        #: Where an error would happen now.
        self.phase = "queue"
        self.outcome: str | None = None
        #: Whether it is over.
        self.ended = False
        self.error: BaseException | None = None
        self.connection: Connection | None = None
        self.reused: bool | None = None
        self.idle_ns: int | None = None
        self.conn_requests: int | None = None
        self.bytes_sent = self.writes = 0
        self.status: int | None = None
        self.bytes_received: int | None = None
        self.server_timing: list[server_timing.ServerTiming] | None = None
        #: Whether the base library is connecting, or reading: then it may close the connection before it raises.
        self.connecting = self.awaiting = False
        #: For the seam: http.client's response, the announced length of its body, a weak reference to urllib3's.
        self.http_response: typing.Any = None
        self.expected: int | None = None
        self.response: typing.Any = None
        self.info_before: bytes | None = None
        self.info_sent: bytes | None = None
        self.info_after: bytes | None = None
        self.may_nagle = False

    def tell(self, name: str, t_ns: int, **fields: typing.Any) -> None:
        """Hand an event to the listener, if it has a method for it."""
        methods = None if self.listener is None else self.listener.get(name)
        call = self.call
        if methods is not None and call is not None:
            call.deliver(methods, Event(name, t_ns, self.index, fields, call))

    # -- the steps before the exchange: queue, dns, connect, tls --------------------------------------

    def step_start(self, step: str, **fields: typing.Any) -> None:
        """*step* begins; an error would happen in it now."""
        self.phase = step
        t_ns = self.at[f"{step}_start"] = now()
        if self.listener is not None:
            self.tell(f"{step}_start", t_ns, **fields)

    def step_end(self, step: str, error: BaseException | None = None) -> None:
        """*step* is over, if it has begun; connect ends when a tunnel is made, too."""
        at = self.at
        if f"{step}_end" in at or f"{step}_start" not in at:
            return
        t_ns = at[f"{step}_end"] = now()
        if self.listener is not None:
            self.tell(f"{step}_end", t_ns, error=None if error is None else str(error))

    def connect_failed(self, error: BaseException) -> None:
        """Connecting raised: end the step that was under way."""
        self.step_end("connect", error)
        self.step_end("tls", error)
        self.error = error

    # -- the exchange ---------------------------------------------------------------------------------

    def acquired(self, connection: Connection, reused: bool) -> None:
        """*connection* is ready for the request."""
        self.connection = connection
        self.reused = reused
        self.conn_requests = connection.requests = connection.requests + 1
        self.phase = "send"
        t_ns = 0
        if reused and connection.idle_since:
            t_ns = now()
            self.idle_ns = t_ns - connection.idle_since
        if self.listener is not None:
            self.tell(
                "connection_acquired",
                t_ns or now(),
                conn_id=connection.conn_id,
                reused=reused,
                idle_ns=self.idle_ns,
                conn_requests=connection.requests,
            )

    def request_start(self) -> None:
        """The first byte is about to be handed to the kernel. The connection was acquired."""
        connection = self.connection
        if connection is not None:
            self.info_before = connection.info or kernel.read(connection.sock)
        t_ns = self.at["request_start"] = now()
        if self.listener is not None:
            self.tell("request_start", t_ns)

    def request_end(self) -> None:
        """The last write has returned."""
        at = self.at
        if "request_end" in at or "request_start" not in at:
            return
        t_ns = at["request_end"] = now()
        self.phase = "wait"
        if self.connection is not None:
            self.info_sent = kernel.read(self.connection.sock, sent=True)
        if self.listener is not None:
            self.tell("request_end", t_ns, bytes=self.bytes_sent, writes=self.writes)

    def request_failed(self, error: BaseException, refused: bool) -> None:
        """Sending raised, perhaps because the server has already answered; *refused*: by onewrite itself."""
        phase = "send" if refused else self.phase
        self.request_end()
        self.phase = phase
        self.error = error

    def informational(self, status: int) -> None:
        """An interim response came."""
        if self.listener is not None:
            self.tell("informational", now(), status=status)

    def response_start(self, t_ns: int) -> None:
        """The first byte of the final response was read at *t_ns*."""
        self.at["response_start"] = t_ns
        self.phase = "receive"
        connection = self.connection
        if connection is not None and connection.sock is not None:
            info = self.info_sent
            wait_ns = t_ns - self.at.get("request_end", 0)
            # Where all was sent and the answer came at once, the reading made while waiting says the same.
            if info is None or wait_ns >= kernel.SOON_NS:
                info = kernel.read(connection.sock)
                self.may_nagle = cause.may_nagle(connection.sock, self.writes, wait_ns)
            self.info_after = connection.info = info
        if self.listener is not None:
            self.tell("response_start", t_ns)

    def headers_end(self, status: int, server_timings: typing.Iterable[str] | None) -> None:
        """The head of the final response is complete; *server_timings* are the values of its Server-Timing."""
        self.status = status
        if server_timings:
            self.server_timing = server_timing.parse(server_timings)
        self.error = None  # a write that broke because the server answered early did no harm
        if self.listener is None:  # no phase depends on the time
            self.at["headers_end"] = self.at.get("response_start") or now()
        else:
            t_ns = self.at["headers_end"] = now()
            self.tell("headers_end", t_ns, status=status)

    def response_end(self, t_ns: int, received: int | None) -> None:
        """The body was read to its end, *received* bytes of it, at *t_ns*."""
        if "response_end" in self.at:
            return
        self.at["response_end"] = t_ns
        if received is not None:
            self.bytes_received = received
        if self.listener is not None:
            self.tell("response_end", t_ns, bytes=self.bytes_received)

    # -- the end --------------------------------------------------------------------------------------

    def end(self, outcome: str, reusable: bool | None = None, t_ns: int = 0) -> None:
        """The attempt is over, since *t_ns* or now.

        *reusable* says of a connection that was given back whether it can carry another request.
        """
        if self.ended:
            return
        end = self.at["attempt_end"] = t_ns or now()
        self.ended = True
        self.outcome = outcome
        error, self.error = self.error, None  # its traceback leads to the library's frames
        self.http_response = self.response = None
        if self.connection is not None:
            self.connection.released(self.conn_requests or 0)
        if self.listener is not None:
            if reusable is not None:
                self.tell("connection_released", end, reusable=reusable)
            self.tell("attempt_end", end, outcome=outcome)
        call = self.call
        if call is not None and call.returned and self is call.attempts[-1]:
            if outcome != "ok":
                call.error_phase = self.phase
            call.end(None if outcome == "ok" else error)

    def record(self) -> Attempt:
        """Return the attempt as far as it has come."""
        at = self.at.copy()
        fields: dict[str, typing.Any] = {
            "index": self.index,
            "outcome": self.outcome,
            "status": self.status,
            "reused": self.reused,
            "idle_ns": self.idle_ns,
            "conn_requests": self.conn_requests,
            "bytes_sent": self.bytes_sent,
            "writes": self.writes,
            "bytes_received": self.bytes_received,
            "at": at,
            **phases(at),
        }
        wait_ns = fields.get("wait_ns")
        if self.info_before and self.info_after and wait_ns is not None:
            held = self.info_after is not self.info_sent
            fields["kernel"], fields["cause"] = cause.judge(
                self.info_before, self.info_after, wait_ns, held, self.may_nagle
            )
        if self.server_timing is not None:
            fields["server_timing"] = self.server_timing
            fields["server_ns"], fields["network_ns"] = server_timing.split(self.server_timing, wait_ns)
        if self.connection is not None:
            fields["conn_id"] = self.connection.conn_id
        return made(Attempt, fields)
