"""The record of a call: filled while the call runs, sealed at its end, then handed to on_timing.

The object takes clock readings and counts in slots. Phases, cause and text are computed when they are read. A call has
one object; a retry or redirect moves what the attempt before it took into an object of its own.
"""

from __future__ import annotations

import contextvars
import os
import time
import typing

from .._errors import kind_of
from . import cause, hooks, kernel
from .connection import Connection
from .events import Event, Listener
from .hooks import Hook, Hooks
from .kernel import KernelEvidence
from .redact import redacted

now = time.monotonic_ns

#: The monotonic times of an attempt, 0 for a step that did not happen.
_TIMES = (
    "attempt_start", "request_start", "request_end", "response_start", "headers_end", "response_end", "attempt_end",
)  # fmt: skip

PHASES = ("queue", "dns", "connect", "tls", "send", "wait", "receive", "total")

_FIELDS = (
    "outcome", "status", "conn_id", "reused", "idle_ns", "conn_requests", "proxy", "bytes_sent", "writes",
    "bytes_received",
)  # fmt: skip


def _phase(name: str, start: str, end: str) -> typing.Any:
    def phase(attempt: Attempt) -> int | None:
        return attempt._lasted(name, getattr(attempt, start), getattr(attempt, end))

    return property(phase, doc=f"Nanoseconds from {start} to {end}; None where the phase did not happen.")


def _step(name: str) -> typing.Any:
    def step(attempt: Attempt) -> int | None:
        return attempt._lasted(name, *(attempt.steps or {}).get(name, (0, 0)))

    return property(step, doc="Nanoseconds; None where the step did not happen.")


class Attempt:
    """One attempt of a call: the first, or one for each retry and redirect.

    Phases are in nanoseconds; one that did not happen is None. ``dns_ns``, ``connect_ns`` and ``tls_ns`` are those of
    a new connection.
    """

    __slots__ = (
        *_TIMES, "_outcome", "_readings", "bytes_received", "bytes_sent", "conn_id", "conn_requests", "failed_in",
        "idle_ns", "index", "proxy", "reused", "status", "steps", "writes",
    )  # fmt: skip

    index: int
    attempt_start: int
    attempt_end: int
    #: The connection's number, and how many requests it has carried, this one included.
    conn_id: int | None
    conn_requests: int | None
    reused: bool | None
    #: How long a reused connection was idle.
    idle_ns: int | None
    #: Host and port of the proxy that the connection goes through, or would have gone through.
    proxy: str | None
    status: int | None
    bytes_received: int | None
    bytes_sent: int
    writes: int
    #: The phase in which the attempt failed.
    failed_in: str | None
    _outcome: str | None
    #: Begin and end of queue, dns, connect and tls; None on a reused connection. An end that has not come is 0.
    steps: dict[str, tuple[int, int]] | None
    #: For cause.judge(): the kernel's readings, whether they count segments, and whether Nagle's algorithm was on.
    _readings: tuple[bytes | None, bytes | None, bool, bool] | None

    #: Waited for a connection of the pool.
    queue_ns = _step("queue")
    #: Looked the name up.
    dns_ns = _step("dns")
    #: TCP handshake, and the CONNECT exchange with a proxy.
    connect_ns = _step("connect")
    #: TLS handshake.
    tls_ns = _step("tls")
    #: First byte to the kernel until the last write returned.
    send_ns = _phase("send", "request_start", "request_end")
    #: Last write returned until the first byte of the final response was read.
    wait_ns = _phase("wait", "request_end", "response_start")
    #: First byte of the response until its last; None when the body was not read to the end.
    receive_ns = _phase("receive", "response_start", "response_end")
    #: Begin to end of the attempt.
    total_ns = _phase("total", "attempt_start", "attempt_end")

    def _lasted(self, phase: str, begun: int, ended: int) -> int | None:
        if not ended and self.failed_in == phase:  # it lasts until the attempt's end (TIME-37)
            ended = self.attempt_end
        return max(ended - begun, 1) if begun and ended else None

    @property
    def outcome(self) -> str | None:
        """Ok, error or cancelled."""
        return self._outcome

    def _judged(self) -> tuple[KernelEvidence | None, str | None]:
        if self._readings is None:
            return None, None
        before, after, counted, nagle = self._readings
        wait_ns: int | None = self.wait_ns
        if not before or not after or wait_ns is None:
            return None, None
        return cause.judge(before, after, wait_ns, counted, nagle)

    @property
    def kernel(self) -> KernelEvidence | None:
        """The kernel's evidence, on Linux; None where the answer came so soon that nothing can have been held."""
        return self._judged()[0]

    @property
    def cause(self) -> str | None:
        """Why ``wait_ns`` is 20 ms or more: nagle_delayed_ack, retransmit, peer_window or server."""
        return self._judged()[1]

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record under its canonical names, absent values left out."""
        evidence, why = self._judged()
        found = {"index": self.index, **{name: getattr(self, name) for name in _FIELDS}}
        found |= {f"{phase}_ns": getattr(self, f"{phase}_ns") for phase in PHASES}
        found |= {"bytes_sent": self.bytes_sent or None, "writes": self.writes or None}
        found |= {"kernel": evidence and evidence._asdict(), "cause": why}
        return {name: value for name, value in found.items() if value is not None}

    def __repr__(self) -> str:
        return f"<Attempt {self.to_dict()}>"

    def _text(self) -> str:
        found = []
        for phase in PHASES[:-1]:
            value: int | None = getattr(self, f"{phase}_ns")
            if value is None:
                continue
            text = f"{phase} {value / 1e6:.1f}"
            if phase == "wait":
                evidence, why = self.kernel, self.cause
                if why == "server":
                    text += " (server)"
                elif why is not None and evidence is not None:
                    text += f" (held {evidence.send_hold_ns / 1e6:.1f}: {why})"
            found.append(text)
        return ", ".join(found)


#: What a record has while its call runs; None in a sealed one.
_LIVE = (
    "connection", "error", "failed_ns", "freed_ns", "hooks", "listener", "notes", "owner", "phase", "pool", "queue",
    "reading", "response", "retries", "returned", "reusable", "running", "skipped",
)  # fmt: skip
#: What another attempt begins with.
_FRESH: dict[str, typing.Any] = {
    **dict.fromkeys((*Attempt.__slots__, "connection", "error", "phase", "response")),
    **dict.fromkeys((*_TIMES, "bytes_sent", "writes", "failed_ns", "freed_ns"), 0),
    "reusable": False,
}
#: What a record of a call has beside that of its last attempt.
_OF_CALL = ("method", "url", "outcome", "error_kind", "error_phase", "started_at_unix_ns", "started_at_mono_ns")


class Timing(Attempt):
    """The record of one call. Status, phases and the like are those of its last attempt."""

    __slots__ = ("_earlier", "ended_at_mono_ns", *_OF_CALL, *_LIVE)

    method: str
    #: The URL of the request, without user, password and values of secret keys (SEC-17).
    url: str
    #: ok, error or cancelled
    outcome: str | None
    error_kind: str | None
    error_phase: str | None
    #: Wall clock at the start, in nanoseconds of the Unix epoch.
    started_at_unix_ns: int
    #: Monotonic clock at the start and at the end, in nanoseconds; 0 for an end that has not come.
    started_at_mono_ns: int
    ended_at_mono_ns: int
    _earlier: tuple[Attempt, ...]

    @property
    def total_ns(self) -> int | None:
        """Nanoseconds from begin to end of the call."""
        return max(self.ended_at_mono_ns - self.started_at_mono_ns, 1) if self.ended_at_mono_ns else None

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts: the first, and one for each retry and redirect."""
        return [*self._earlier, self._attempt()]

    def _attempt(self) -> Attempt:
        """Return the last attempt apart from the call."""
        found = Attempt.__new__(Attempt)
        for name in Attempt.__slots__:
            setattr(found, name, getattr(self, name))
        return found

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record under its canonical names (schemas/timing-v1.schema.json), absent values left out."""
        attempts = [attempt.to_dict() for attempt in self.attempts]
        found = dict(attempts[-1])
        for name in ("index", "bytes_sent", "writes", "bytes_received"):
            found.pop(name, None)
        found |= {name: getattr(self, name) for name in (*_OF_CALL, "total_ns")}
        found["attempts"] = attempts
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        """Return one line: ``POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.0; reused conn 3``."""
        total = "unfinished" if self.total_ns is None else f"in {self.total_ns / 1e6:.1f} ms"
        if self.proxy is not None:
            total += f" via proxy {self.proxy}"
        what = "" if self.status is None else str(self.status)
        if self.outcome == "cancelled":
            failure = ["cancelled", f"(in {self.error_phase})" if self.error_phase else ""]
        elif self.outcome == "error":
            words = " in ".join(word for word in (self.error_kind, self.error_phase) if word)
            failure = ["error", f"({words})" if words else ""]
        else:
            failure = [] if what else [self.outcome or ""]
        parts = [" ".join(part for part in (self.method, self.url, what, *failure, total) if part)]
        phases = self._text()
        if phases:
            parts[0] += ": " + phases
        if self.conn_id is not None:
            parts.append(f"{'reused' if self.reused else 'new'} conn {self.conn_id}")
        if self.index:
            parts.append(f"attempt {self.index + 1}")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<Timing {self}>"

    def __reduce__(self) -> typing.Any:
        names = (*Attempt.__slots__, *(name for name in Timing.__slots__ if name not in _LIVE))
        return Timing.__new__, (Timing,), (None, {name: getattr(self, name) for name in names})


#: The call under way on this thread, greenlet or task.
current: contextvars.ContextVar[Call | None] = contextvars.ContextVar("onewrite_call", default=None)


class Call(Timing):
    """A Timing while its call runs. Sealing changes its class to Timing.

    A seam calls the methods in the order of spec/events.yaml.
    """

    __slots__ = ()

    connection: Connection | None
    #: The error that ended an attempt, or will end it, and when it came.
    error: BaseException | None
    failed_ns: int
    #: When the connection was given back, and whether it can carry another request.
    freed_ns: int
    reusable: bool
    hooks: Hooks | None
    listener: Listener | None
    #: What a listener keeps with the call.
    notes: typing.Any
    #: The step before the exchange in which an error would happen now.
    phase: str | None
    #: Whether a method that reads the body is running; whether the outermost request has returned.
    reading: bool
    returned: bool
    #: What waits while a listener is called: methods, and what they get.
    queue: list[tuple[tuple[Hook, ...], typing.Any]] | None
    #: The hook that is being called, and the hooks within which this call was made.
    running: Hook | None
    skipped: tuple[Hook, ...] | None
    #: For the seam: who began the call, whose attempt it is, the response below, the retries of the attempt.
    owner: typing.Any
    pool: typing.Any
    response: typing.Any
    retries: typing.Any

    def __init__(self, given: Hooks, method: str, url: str, owner: typing.Any = None) -> None:
        self.index = 0
        self.attempt_start = self.started_at_mono_ns = now()
        self.started_at_unix_ns = time.time_ns()
        self.method = method
        self.url = redacted(url) if "?" in url or "@" in url else url
        self.hooks = given
        self.listener = given.listener
        self.owner = owner
        self.request_start = self.request_end = self.response_start = 0
        self.headers_end = self.response_end = self.attempt_end = self.bytes_sent = self.writes = 0
        self.ended_at_mono_ns = self.failed_ns = self.freed_ns = 0
        self.status = self.conn_id = self.conn_requests = self.reused = self.idle_ns = self.bytes_received = None
        self.failed_in = self._outcome = self._readings = self.outcome = self.error_kind = self.error_phase = None
        self.phase = self.notes = self.skipped = self.queue = self.running = self.proxy = self.steps = None
        self.connection = self.error = self.pool = self.response = self.retries = None
        self.reading = self.returned = self.reusable = False
        self._earlier = ()

    # -- begin ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Report the begin of the call and of its first attempt."""
        if self.listener is not None:
            fields = {"method": self.method, "url": self.url, "started_at_unix_ns": self.started_at_unix_ns}
            self.tell("call_start", self.started_at_mono_ns, fields, True)
            self.tell("attempt_start", self.attempt_start)

    def next_attempt(self) -> None:
        """Begin another attempt: the base library repeats the request, or follows a redirect."""
        self.end_attempt()
        self._earlier = (*self._earlier, self._attempt())
        index = self.index + 1
        for name, value in _FRESH.items():
            setattr(self, name, value)
        self.index, self.attempt_start = index, now()
        self.tell("attempt_start", self.attempt_start)

    # -- the steps before the exchange: queue, dns, connect, tls --------------------------------------

    def step_start(self, step: str, **fields: typing.Any) -> None:
        """*step* begins; an error would happen in it now."""
        self.phase = step
        t_ns = now()
        self.steps = {**(self.steps or {}), step: (t_ns, 0)}
        self.tell(f"{step}_start", t_ns, fields)

    def step_end(self, step: str, error: BaseException | None = None) -> None:
        """*step* is over, if it has begun. With *error* the attempt fails in it."""
        begun, ended = (self.steps or {}).get(step, (0, 0))
        if ended or not begun:
            return
        if error is None:
            self.phase = None
        t_ns = self.failed_ns or now()
        self.steps = {**(self.steps or {}), step: (begun, t_ns)}
        if self.listener is not None:
            self.tell(f"{step}_end", t_ns, {} if error is None or step == "queue" else {"error": text_of(error)})

    def broke(self, error: BaseException) -> None:
        """The base library got *error*. It may go on, or raise it."""
        self.error = error
        self.failed_ns = self.failed_ns or now()

    def connect_failed(self, error: BaseException) -> None:
        """Connecting raised: end the step that was under way."""
        self.broke(error)
        for step in ("dns", "connect", "tls"):
            self.step_end(step, error)

    # -- the exchange ---------------------------------------------------------------------------------

    def acquired(self, connection: Connection, reused: bool) -> None:
        """*connection* is ready for the request."""
        self.connection = connection
        self.reused = reused
        self.conn_id = connection.conn_id
        self.conn_requests = connection.requests = requests = connection.requests + 1
        t_ns = now()
        if requests == 1:
            self.phase = None
            connection.info = kernel.read(connection.sock)
        elif connection.idle_since:
            self.idle_ns = t_ns - connection.idle_since
        if self.listener is not None:
            fields = {"conn_id": self.conn_id, "reused": reused, "idle_ns": self.idle_ns, "conn_requests": requests}
            self.tell("connection_acquired", t_ns, fields)

    def first_write(self) -> None:
        """The first bytes are about to be handed to the kernel."""
        self.request_start = t_ns = now()
        if self.listener is not None:
            self.tell("request_start", t_ns)

    def sent(self) -> None:
        """The last write has returned, or no more is written."""
        if self.request_start and not self.request_end:
            self.request_end = t_ns = self.failed_ns or now()
            self.failed_ns = 0
            if self.listener is not None:
                self.tell("request_end", t_ns, {"bytes": self.bytes_sent, "writes": self.writes})

    def informational(self, status: int) -> None:
        """An interim response came."""
        if self.listener is not None:
            self.tell("informational", now(), {"status": status})

    def response_began(self, t_ns: int) -> None:
        """The first byte of the final response was read at *t_ns*."""
        self.response_start = t_ns
        connection = self.connection
        if connection is not None:
            if t_ns - self.request_start < kernel.SOON_NS:
                connection.counted = False
            else:
                before, connection.info = connection.info, kernel.read(connection.sock)
                long = self.writes > 1 and t_ns - self.request_end >= cause.LONG_NS
                nagle = long and kernel.nodelay_off(connection.sock)
                self._readings = before, connection.info, connection.counted, nagle
                connection.counted = True
        if self.listener is not None:
            self.tell("response_start", t_ns)

    def headers_read(self, status: int) -> None:
        """The head of the final response is complete."""
        self.status = status
        self.error = None  # a write that broke because the server answered early did no harm
        self.failed_ns = 0
        if self.listener is None:  # no phase depends on the time
            self.headers_end = self.response_start
        else:
            self.headers_end = t_ns = now()
            self.tell("headers_end", t_ns, {"status": status})

    def body_read(self, t_ns: int, received: int | None) -> None:
        """The body was read to its end, *received* bytes of it, at *t_ns*."""
        if not self.response_end and self.response_start:
            self.response_end = t_ns
            self.bytes_received = received
            if self.listener is not None:
                self.tell("response_end", t_ns, {"bytes": received})

    # -- the end --------------------------------------------------------------------------------------

    def end_attempt(self) -> None:
        """The attempt is over; it failed if an error came that nothing has mended."""
        if self._outcome is None:
            error = self.error
            self.attempt_end = end = self.failed_ns or self.freed_ns or self.response_end or self.attempt_end or now()
            if error is None:
                self._outcome = "ok"
            else:
                self._outcome = "error" if isinstance(error, Exception) else "cancelled"
                self.failed_in = self._running_phase()
            if self.listener is not None:
                if self.freed_ns:
                    self.tell("connection_released", self.freed_ns, {"reusable": self.reusable})
                self.tell("attempt_end", end, {"outcome": self._outcome})

    def _running_phase(self) -> str | None:
        if self.response_start:
            return "receive"
        if self.request_end:
            return "wait"
        return "send" if self.request_start else self.phase

    def abandon(self) -> None:
        """A finalizer ends the call: the next call hands it out. What a forked child inherits is its parent's."""
        connection = self.connection
        process = os.getpid()
        if not self.ended_at_mono_ns and (connection is None or connection.process == process):
            self.attempt_end = self.attempt_end or now()
            hooks.pending.append((process, self))

    def end(self, error: BaseException | None = None) -> None:
        """The caller has what it wanted of the response, or gets *error*: seal the record and hand it out."""
        if error is None:
            error = self.error
        elif self.error is None and self._outcome is None:
            self.broke(error)
        if self._outcome is None:
            self.end_attempt()
        if error is None:
            self.outcome = "ok"
            self.ended_at_mono_ns = self.attempt_end
        else:
            self.error_kind = kind_of(error)
            self.outcome = "cancelled" if self.error_kind == "cancelled" else "error"
            self.error_phase = self.failed_in
            self.ended_at_mono_ns = now()
        try:
            if self.listener is not None:
                fields = {"outcome": self.outcome, "error_kind": self.error_kind, "error_phase": self.error_phase}
                self.tell("call_end", self.ended_at_mono_ns, fields, True)
        finally:  # drop what only a running call needs
            on_timing = self.hooks.on_timing if self.hooks is not None else ()
            self.connection = self.error = self.response = self.owner = self.pool = self.retries = None
            self.hooks = self.listener = None
            self.__class__ = Timing  # type: ignore[assignment]
        if self.queue is not None:  # a listener has ended the call: what it is called with comes first
            self.queue.append((on_timing, self))
        else:
            _deliver(self, [(on_timing, self)])

    # -- the listener ---------------------------------------------------------------------------------

    def tell(self, name: str, t_ns: int, fields: dict[str, typing.Any] | None = None, of_call: bool = False) -> None:
        """Call the listener's methods in turn. What happens meanwhile waits until they have returned."""
        methods = None if self.listener is None else self.listener.get(name)
        if methods is None:
            return
        event = Event(name, t_ns, None if of_call else self.index, {} if fields is None else fields, self)
        if self.queue is not None:
            self.queue.append((methods, event))
            return
        self.queue = [(methods, event)]
        try:
            _deliver(self, self.queue)
        finally:
            self.queue = None


def _deliver(record: typing.Any, waiting: list[tuple[tuple[Hook, ...], typing.Any]]) -> None:
    """Call the hooks of *waiting*, which may grow meanwhile. A request that a hook makes becomes a separate call."""
    outer = current.get()
    if outer is not record:
        current.set(record)
    try:
        for methods, given in waiting:
            if given is record:
                record.notes = None
            for hook in methods:
                record.running = hook
                try:
                    returned = hook(given)
                except BaseException as error:
                    hooks.swallow(hook, error)
                else:
                    if returned is not None:
                        hooks.refuse_coroutine(hook, returned)
    finally:
        record.running = None
        if not isinstance(record, Call):  # its last hook has been called
            record.skipped = None
        if outer is not record:
            current.set(outer)


def take(holder: typing.Any) -> Call | None:
    """Return the call that *holder*, a response, carries, to the one who may end it: one thread, no forked child."""
    call: Call | None = holder.__dict__.pop("_onewrite", None)
    if call is None or call.ended_at_mono_ns:
        return None
    connection = call.connection
    return call if connection is None or connection.process == os.getpid() else None


def text_of(error: BaseException) -> str:
    """Return the text of *error*, or its class where it has none: its methods may be the user's."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def begin(given: Hooks, method: str, url: str, owner: typing.Any) -> Call:
    """Begin a call. It does not report to the hooks within which it is made."""
    if hooks.pending:
        hooks.drain()
    outer = current.get()
    if outer is None or (outer.running is None and not outer.skipped):
        return Call(given, method, url, owner)
    skipped = outer.skipped or ()
    if outer.running is not None:
        skipped += (outer.running,)
    call = Call(given.without(skipped), method, url, owner)
    call.skipped = skipped
    return call
