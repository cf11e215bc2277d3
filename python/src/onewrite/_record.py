"""The record of one request that was sent, or that failed before it could be.

The wrapped functions store clock readings in it while the request runs. Phases, cause and text are computed when they
are read.
"""

from __future__ import annotations

import itertools
import time
import typing

from . import _kernel
from ._config import Scope
from ._errors import kind_of
from ._kernel import Evidence

#: In the order in which they happen.
EVENTS = (
    "queue_start", "queue_end", "dns_start", "dns_end", "connect_start", "connect_end", "tls_start", "tls_end",
    "connection_acquired", "request_start", "request_end", "response_start", "headers_end", "response_end",
    "connection_released",
)  # fmt: skip

#: Each with the events at which it begins and ends.
PHASES = {
    "queue": ("queue_start", "queue_end"),
    "dns": ("dns_start", "dns_end"),
    "connect": ("connect_start", "connect_end"),
    "tls": ("tls_start", "tls_end"),
    "send": ("request_start", "request_end"),
    "wait": ("request_end", "response_start"),
    "receive": ("response_start", "response_end"),
}

_FIELDS = (
    "method", "url", "outcome", "status", "error_kind", "error_phase", "resend", "conn_id", "reused", "idle_ns",
    "conn_requests", "proxy", "bytes_sent", "writes", "bytes_received", *(f"{phase}_ns" for phase in PHASES),
    "total_ns", "cause", "started_at_unix_ns", "started_at_mono_ns",
)  # fmt: skip

DEFAULT_PORTS = {"http": 80, "https": 443}
_numbers = itertools.count(1)
_now = time.monotonic_ns


class Line:
    """What is kept of one socket between its requests."""

    __slots__ = ("conn_id", "idle_since", "info", "info_counts", "nodelay", "proxy", "requests", "tcp")

    def __init__(self, tcp: typing.Any, requests: int | None) -> None:
        #: The TCP socket, for TCP_INFO.
        self.tcp = tcp
        #: Whether TCP_NODELAY was set, or left to the user.
        self.nodelay = False
        #: How many requests it has carried; None where that is not known.
        self.requests = requests
        #: Its number in records, from the first one on; when the last request ended.
        self.conn_id: int | None = None
        self.idle_since = 0
        #: Host and port of the proxy, where a record cannot see it.
        self.proxy: str | None = None
        #: The last TCP_INFO, and whether no request was sent since.
        self.info: bytes | None = None
        self.info_counts = False


def _phase(name: str) -> typing.Any:
    return property(lambda record: record._phase_ns(name), doc=f"How long {name} took; None where it did not happen.")


class Record:
    """One request.

    Times are in nanoseconds. What did not happen is None: most attributes stay those of the class.
    """

    # Monotonic times of the events, 0 where one did not happen.
    queue_start = queue_end = dns_start = dns_end = connect_start = connect_end = tls_start = tls_end = 0
    connection_acquired = request_start = request_end = response_start = headers_end = response_end = 0
    connection_released = _ended_at = 0

    # While the request runs: its connection's line and idle time, http.client's response and its length, the error.
    _line: Line | None = None
    _below: typing.Any = None
    _announced: int | None = None
    _error: BaseException | None = None
    _broken_at = 0
    _returned = False
    #: Whether its connection waits for the answer: before that, a body may use a connection of its own.
    _awaited = False
    #: Whether it hangs on a connection.
    is_attached = False
    _idle_since = 0

    #: HTTP method, and URL without user, password, query and fragment; None for a URL without a host.
    method: str
    #: ok, error or cancelled
    outcome: str | None = None
    status: int | None = None
    #: dns, connect, tls, pool, timeout, reset, closed, protocol, cancelled or other; the phase in which it failed.
    error_kind: str | None = None
    error_phase: str | None = None
    #: 1, 2, … for a request that urllib3 sends again, or after a redirect.
    resend: int | None = None
    #: Number of the connection; whether it was open before; how many requests it has carried, this one included.
    conn_id: int | None = None
    reused: bool | None = None
    conn_requests: int | None = None
    #: Host and port of the proxy.
    proxy: str | None = None
    bytes_sent: int | None = None
    writes: int | None = None
    #: How much of the body was read; None for a streamed answer that does not announce its length.
    bytes_received: int | None = None

    #: TCP_INFO before the request, and how long after response_start; whether it counts segments; Nagle's algorithm.
    _before: bytes | None = None
    _after: bytes | None = None
    _read_after_ns = 0
    _counted = _nagle = False

    queue_ns: int | None = _phase("queue")
    dns_ns: int | None = _phase("dns")
    #: TCP handshake, and the CONNECT exchange with a proxy.
    connect_ns: int | None = _phase("connect")
    tls_ns: int | None = _phase("tls")
    #: First byte to the kernel until the last write returned.
    send_ns: int | None = _phase("send")
    #: Last write returned until the head of the final answer was read.
    wait_ns: int | None = _phase("wait")
    receive_ns: int | None = _phase("receive")

    def __init__(self, scope: Scope, method: typing.Any, origin: tuple[typing.Any, ...], target: typing.Any) -> None:
        self._owed = [scope]
        self.method = method if type(method) is str else str(method)
        self._origin, self._target = origin, target
        self.started_at_unix_ns = time.time_ns()
        self.started_at_mono_ns = _now()

    # -- for the wrapped functions ------------------------------------------------------------------------

    def begin_write(self, line: Line) -> None:
        """The first byte is about to be handed to the kernel, on *line*."""
        self.use_line(line)
        self.bytes_sent = self.writes = 0
        if line.info is None:
            line.info, line.info_counts = _kernel.read(line.tcp), True
        self.request_start = _now()
        if not self.connection_acquired:  # connected by a class of the user
            self.connection_acquired = self.request_start

    def use_line(self, line: Line) -> None:
        """The request goes over *line*."""
        self._line = line
        if line.conn_id is None:
            line.conn_id = next(_numbers)
        self.conn_id, self.conn_requests = line.conn_id, None if line.requests is None else line.requests + 1
        self._idle_since = line.idle_since if self.reused else 0

    def write_failed(self, error: BaseException) -> None:
        """The request could not be written to its end."""
        self._error, self._broken_at, self.request_end = error, _now(), 0

    def head_read(self, t_ns: int) -> None:
        """The head of the final answer was read at *t_ns*."""
        self.response_start = t_ns
        self._error = None
        if self._broken_at:  # the answer came before the whole request was written, and is heard
            self.request_end = self._broken_at
        line = self._line
        if line is None:
            return
        wait_ns = t_ns - self.request_end
        if wait_ns < _kernel.SOON_NS:
            line.info_counts = False
            return
        self._before, self._counted = line.info, line.info_counts
        self._after = line.info = _kernel.read(line.tcp)
        self._read_after_ns = _now() - t_ns
        line.info_counts = True
        if wait_ns >= _kernel.LONG_NS and (self.writes or 0) > 1:
            self._nagle = _kernel.is_nodelay_off(line.tcp)

    def end(self) -> Scope | None:
        """The connection is free or closed, or could not be had. Nothing of the base library's is kept.

        Return whose hooks get the record: to one caller alone, whatever other threads do.
        """
        try:
            scope = self._owed.pop()
        except IndexError:
            return None
        self._ended_at = _now()
        line, error, below = self._line, self._error, self._below
        self._line = self._error = self._below = None
        if below is not None and self._announced is not None:
            self.bytes_received = self._announced - (below.length or 0)
        if line is None:
            self.reused = None
        else:
            self.connection_released = line.idle_since = self._ended_at
        if error is None:
            self.outcome = "ok"
        else:
            self._failed(error)
        return scope

    def _failed(self, error: BaseException) -> None:
        kind = kind_of(error)
        connecting = bool(self.connect_start and not self.tls_start and not self.connect_end)
        if kind == "other" and connecting and isinstance(error, OSError):
            kind = "connect"  # a tunnel that the proxy refuses
        elif kind == "dns" and connecting and not self.dns_end:
            self.dns_start, self.connect_start = self.connect_start, 0
        elif kind == "pool":
            self.queue_start = self.queue_start or self.started_at_mono_ns
        self.error_kind = kind
        self.outcome = "cancelled" if kind == "cancelled" else "error"
        for phase, (begin, end) in PHASES.items():
            if getattr(self, begin) and not getattr(self, end):
                self.error_phase = phase
                break

    # -- what is computed when it is read -----------------------------------------------------------------

    @property
    def url(self) -> str | None:
        """Scheme, host, port if it was given, and path; None where there is no host."""
        scheme, host, port = self._origin
        path = str(self._target).partition("#")[0].partition("?")[0]
        if not path.startswith("/"):  # a whole URL, as a proxy gets it
            scheme, slashes, rest = path.partition("://")
            authority, slash, rest = rest.partition("/")
            authority, path = authority.rpartition("@")[2], slash + rest
            return f"{scheme}://{authority}{path or '/'}" if slashes and authority else None
        if not host:
            return None
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"{scheme}://{host}{'' if port in (None, DEFAULT_PORTS.get(scheme)) else f':{port}'}{path}"

    @property
    def total_ns(self) -> int:
        """From the call for a connection until that was free again, closed, or could not be had."""
        return max(self._ended_at - self.started_at_mono_ns, 1)

    @property
    def idle_ns(self) -> int | None:
        """How long the reused connection had been idle."""
        return max(self.started_at_mono_ns - self._idle_since, 0) if self._idle_since else None

    def _phase_ns(self, phase: str) -> int | None:
        begin, end = (getattr(self, name) for name in PHASES[phase])
        if not end and self.error_phase == phase:
            end = self._ended_at
        # An answer may come before the whole request was written: it was not waited for.
        return max(end - begin, 1) if begin and end and (end >= begin or phase != "wait") else None

    def _judged(self) -> tuple[Evidence | None, str | None]:
        wait_ns: int | None = self.wait_ns
        if self._before is None or self._after is None or wait_ns is None:
            return None, None
        return _kernel.judge(self._before, self._after, wait_ns, self._read_after_ns, self._counted, self._nagle)

    @property
    def kernel(self) -> Evidence | None:
        """The kernel's evidence (Linux); None where the answer came within 1 ms."""
        return self._judged()[0]

    @property
    def cause(self) -> str | None:
        """Why ``wait_ns`` is 20 ms or more: nagle_delayed_ack, retransmit, peer_window, client or server."""
        return self._judged()[1]

    @property
    def events(self) -> list[tuple[str, int]]:
        """What happened: names and monotonic times."""
        times = {name: getattr(self, name) for name in EVENTS}
        times["headers_end"] = self.headers_end or self.response_start
        return [(name, t_ns) for name, t_ns in times.items() if t_ns]

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record under its canonical names (schemas/timing-v2.schema.json); what is absent is left out."""
        found = {name: getattr(self, name) for name in _FIELDS}
        evidence = self.kernel
        if evidence is not None:
            found["kernel"] = {name: value for name, value in evidence._asdict().items() if value is not None}
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        """Return one line: ``POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.0; reused conn 3``."""
        failure = ""
        if self.outcome == "cancelled":
            failure = f"cancelled (in {self.error_phase})" if self.error_phase else "cancelled"
        elif self.outcome == "error":
            failure = (
                f"error ({self.error_kind} in {self.error_phase})" if self.error_phase else f"error ({self.error_kind})"
            )
        words = (self.method, self.url, self.status, failure, f"in {_ms(self.total_ns)} ms")
        text = " ".join(str(word) for word in words if word)
        if self.proxy:
            text += f" via proxy {self.proxy}"
        phases = [f"{name} {_ms(value)}" + self._why(name) for name in PHASES if (value := self._phase_ns(name))]
        if phases:
            text += ": " + ", ".join(phases)
        if self.conn_id is not None:
            text += f"; {'reused' if self.reused else 'new'} conn {self.conn_id}"
        return text + (f"; resend {self.resend}" if self.resend else "")

    def _why(self, phase: str) -> str:
        evidence, cause = self.kernel, self.cause
        if phase != "wait" or evidence is None or cause is None:
            return ""
        rest = _kernel.rest_of(self.wait_ns or 0, evidence)
        return f" ({cause}: held {_ms(evidence.send_hold_ns)}, unread {_ms(evidence.unread_ns)}, rest {_ms(rest)})"

    def __repr__(self) -> str:
        return f"<Record {self}>"


def _ms(t_ns: int) -> str:
    """Return milliseconds with one decimal, half up."""
    tenths = (t_ns + 50_000) // 100_000
    return f"{tenths // 10}.{tenths % 10}"
