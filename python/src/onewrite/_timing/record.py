"""The records of a call and its attempts.

An attempt is a handful of clock readings; phases are computed when someone asks. The same objects are
filled while the call runs, so that taking them costs little enough to leave on.
"""

from __future__ import annotations

import typing

from . import cause as causes
from . import server_timing as serving
from .kernel import KernelEvidence
from .server_timing import ServerTiming

PHASES = ("queue", "dns", "connect", "tls", "send", "wait", "receive", "total")


def _distance(start: int, end: int) -> int | None:
    """Nanoseconds between two readings, at least 1; None where one of them was not taken."""
    if not start or not end:
        return None
    return max(end - start, 1)


class Attempt:
    """One attempt of a call: the first, or one for each retry and redirect.

    Phases are in nanoseconds; one that did not happen is None. Of connection, name and TLS only a new
    connection has any. ``conn_requests`` counts the requests on the connection, this one included.
    """

    # What an attempt never reaches stays a value of the class, so that making one costs four assignments.
    _end = _queue_start = _queue_end = _dns_start = _dns_end = 0
    _connect_start = _connect_end = _tls_start = _tls_end = 0
    _request_start = _request_end = _response_start = _response_end = _headers_end = 0
    outcome: str | None = None
    status: int | None = None
    conn_id: int | None = None
    reused: bool | None = None
    idle_ns: int | None = None
    conn_requests: int | None = None
    bytes_sent = 0
    writes = 0
    bytes_received: int | None = None
    #: What the response's Server-Timing says, None where it says nothing.
    server_timing: list[ServerTiming] | None = None
    _phase = "queue"
    _call: typing.Any = None
    _listener: typing.Any = None
    _error: BaseException | None = None
    _connecting = _in_response = _acquired = False
    _link: typing.Any = None
    _http: typing.Any = None
    _expected: int | None = None
    _response: typing.Any = None
    _info_before: bytes | None = None
    _info_sent: bytes | None = None
    _info_after: bytes | None = None
    _may_nagle = False
    _evidence: tuple[KernelEvidence, str | None] | None = None

    def __init__(self, call: Timing, index: int, start: int) -> None:
        self._call = call  # until its end
        self._listener = call._listener
        self.index = index
        self._start = start

    @property
    def queue_ns(self) -> int | None:
        """Waited for a connection of the pool."""
        return _distance(self._queue_start, self._queue_end)

    @property
    def dns_ns(self) -> int | None:
        """Looked the name up."""
        return _distance(self._dns_start, self._dns_end)

    @property
    def connect_ns(self) -> int | None:
        """TCP handshake, and the CONNECT exchange with a proxy."""
        return _distance(self._connect_start, self._connect_end)

    @property
    def tls_ns(self) -> int | None:
        """TLS handshake."""
        return _distance(self._tls_start, self._tls_end)

    @property
    def send_ns(self) -> int | None:
        """First byte to the kernel until the last write returned."""
        return _distance(self._request_start, self._request_end)

    @property
    def wait_ns(self) -> int | None:
        """Last write returned until the first byte of the final response was read."""
        return _distance(self._request_end, self._response_start)

    @property
    def receive_ns(self) -> int | None:
        """First byte of the response until its last one; None when the body was not read to the end."""
        return _distance(self._response_start, self._response_end)

    @property
    def total_ns(self) -> int | None:
        """Begin to end of the attempt."""
        return _distance(self._start, self._end)

    @property
    def server_ns(self) -> int | None:
        """What of ``wait`` the server claims in its Server-Timing."""
        return serving.server_ns(self.server_timing, self.wait_ns)

    @property
    def network_ns(self) -> int | None:
        """What of ``wait`` the server does not claim: the network, proxies, queues before the server's clock."""
        server, wait = self.server_ns, self.wait_ns
        return None if server is None or wait is None or wait == server else wait - server

    def _judged(self) -> tuple[KernelEvidence, str | None] | None:
        if self._evidence is None and self._info_before and self._info_after:
            wait = self.wait_ns
            if wait is not None:
                held = self._info_after is not self._info_sent
                self._evidence = causes.judge(self._info_before, self._info_after, wait, held, self._may_nagle)
        return self._evidence

    @property
    def kernel(self) -> KernelEvidence | None:
        """The kernel's evidence, on Linux."""
        judged = self._judged()
        return judged[0] if judged else None

    @property
    def cause(self) -> str | None:
        """Why ``wait`` took 20 ms or more: nagle_delayed_ack, retransmit, peer_window or server."""
        judged = self._judged()
        return judged[1] if judged else None

    def to_dict(self) -> dict[str, typing.Any]:
        """The record under its canonical names, absent values left out."""
        kernel = self.kernel
        found = {
            "index": self.index,
            "outcome": self.outcome,
            "status": self.status,
            "conn_id": self.conn_id,
            "reused": self.reused,
            "idle_ns": self.idle_ns,
            "conn_requests": self.conn_requests,
            "bytes_sent": self.bytes_sent or None,
            "writes": self.writes or None,
            "bytes_received": self.bytes_received,
            **{f"{phase}_ns": getattr(self, f"{phase}_ns") for phase in PHASES},
            "kernel": kernel._asdict() if kernel else None,
            "cause": self.cause,
            "server_timing": [one.to_dict() for one in self.server_timing] if self.server_timing else None,
            "server_ns": self.server_ns,
            "network_ns": self.network_ns,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _phases_for_people(self) -> list[str]:
        found = []
        for phase in PHASES[:-1]:
            value: int | None = getattr(self, f"{phase}_ns")
            if value is None:
                continue
            text = f"{phase} {value / 1e6:.1f}"
            cause = self.cause if phase == "wait" else None
            if cause == "server":
                text += " (server)"
            elif cause is not None and self.kernel is not None:
                text += f" (held {self.kernel.send_hold_ns / 1e6:.1f}: {cause})"
            if phase == "wait" and self.server_ns is not None and self.network_ns is not None:
                text += f" = server {self.server_ns / 1e6:.1f} + network {self.network_ns / 1e6:.1f}"
            found.append(text)
        return found

    def __getstate__(self) -> dict[str, typing.Any]:
        return _lasting(self)

    def __repr__(self) -> str:
        return f"<Attempt {self.index} {self.outcome}: {', '.join(self._phases_for_people())}>"


#: What a record refers to while its call runs; a copy or a pickle of it is without.
_LIVE = frozenset((
    "_call", "_error", "_http", "_if_freed", "_kept", "_link", "_listener", "_on_timing", "_response",
))  # fmt: skip


def _lasting(record: Attempt | Timing) -> dict[str, typing.Any]:
    return {name: value for name, value in vars(record).items() if name not in _LIVE}


class Timing:
    """The finished record of one call. Phases and the like are those of its last attempt."""

    #: ok, error or cancelled
    outcome: str | None = None
    error_kind: str | None = None
    error_phase: str | None = None
    _returned = _ended = False
    _on_timing: typing.Any = None
    _listener: typing.Any = None
    #: What the listener for OpenTelemetry keeps with the call until its end.
    _kept: typing.Any = None
    #: Called with the record if that is freed before the call has ended.
    _if_freed: typing.Callable[[Timing], None] | None = None

    def __init__(self, method: str, url: str, on_timing: typing.Any, listener: typing.Any) -> None:
        self.method = method
        #: The URL as asked for, without user, password and signatures.
        self.url = url
        self.attempts: list[Attempt] = []
        #: Wall clock at the start, in nanoseconds of the Unix epoch.
        self.started_at_unix_ns = 0
        #: Monotonic clock at the start, in nanoseconds.
        self.started_at_mono_ns = 0
        self.total_ns: int | None = None
        self._on_timing = on_timing
        self._listener = listener

    def __del__(self) -> None:
        if self._if_freed is not None and not self._ended:
            self._if_freed(self)

    def _last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    def to_dict(self) -> dict[str, typing.Any]:
        """The record under its canonical names (schemas/timing-v1.schema.json), absent values left out."""
        attempts = [attempt.to_dict() for attempt in self.attempts]
        found: dict[str, typing.Any] = {}
        if attempts:
            found.update(attempts[-1])
            for name in ("index", "bytes_sent", "writes", "bytes_received"):
                found.pop(name, None)
        found.update(
            method=self.method,
            url=self.url,
            outcome=self.outcome,
            error_kind=self.error_kind,
            error_phase=self.error_phase,
            started_at_unix_ns=self.started_at_unix_ns,
            started_at_mono_ns=self.started_at_mono_ns,
            total_ns=self.total_ns,
            attempts=attempts,
        )
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        """One line for people: ``POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.0; reused conn 3``."""
        total = "unfinished" if self.total_ns is None else f"in {self.total_ns / 1e6:.1f} ms"
        what = "" if self.status is None else str(self.status)
        if self.outcome == "cancelled":
            failure = ["cancelled", f"(in {self.error_phase})" if self.error_phase else ""]
        elif self.outcome == "error":
            words = " in ".join(word for word in (self.error_kind, self.error_phase) if word)
            failure = ["error", f"({words})" if words else ""]
        else:
            failure = [] if what else [self.outcome or ""]
        parts = [" ".join(part for part in (self.method, self.url, what, *failure, total) if part)]
        last = self._last()
        if last is not None:
            phases = last._phases_for_people()
            if phases:
                parts[0] += ": " + ", ".join(phases)
            if last.conn_id is not None:
                parts.append(f"{'reused' if last.reused else 'new'} conn {last.conn_id}")
        if len(self.attempts) > 1:
            parts.append(f"attempt {len(self.attempts)}")
        return "; ".join(parts)

    def __getstate__(self) -> dict[str, typing.Any]:
        return _lasting(self)

    def __repr__(self) -> str:
        return f"<Timing {self}>"

    # The shortcuts of spec/events.yaml.
    @property
    def status(self) -> int | None:
        """Status of the last attempt."""
        last = self._last()
        return last.status if last else None

    @property
    def conn_id(self) -> int | None:
        """Connection of the last attempt."""
        last = self._last()
        return last.conn_id if last else None

    @property
    def reused(self) -> bool | None:
        """Whether the last attempt's connection had carried a request before."""
        last = self._last()
        return last.reused if last else None

    @property
    def kernel(self) -> KernelEvidence | None:
        """The kernel's evidence on the last attempt, on Linux."""
        last = self._last()
        return last.kernel if last else None

    @property
    def cause(self) -> str | None:
        """Why the last attempt's ``wait`` took 20 ms or more."""
        last = self._last()
        return last.cause if last else None

    @property
    def server_timing(self) -> list[ServerTiming] | None:
        """What the last attempt's response says in its Server-Timing."""
        last = self._last()
        return last.server_timing if last else None

    @property
    def server_ns(self) -> int | None:
        """What of the last attempt's ``wait`` the server claims."""
        last = self._last()
        return last.server_ns if last else None

    @property
    def network_ns(self) -> int | None:
        """What of the last attempt's ``wait`` the server does not claim."""
        last = self._last()
        return last.network_ns if last else None

    @property
    def queue_ns(self) -> int | None:
        """Phase ``queue`` of the last attempt."""
        last = self._last()
        return last.queue_ns if last else None

    @property
    def dns_ns(self) -> int | None:
        """Phase ``dns`` of the last attempt."""
        last = self._last()
        return last.dns_ns if last else None

    @property
    def connect_ns(self) -> int | None:
        """Phase ``connect`` of the last attempt."""
        last = self._last()
        return last.connect_ns if last else None

    @property
    def tls_ns(self) -> int | None:
        """Phase ``tls`` of the last attempt."""
        last = self._last()
        return last.tls_ns if last else None

    @property
    def send_ns(self) -> int | None:
        """Phase ``send`` of the last attempt."""
        last = self._last()
        return last.send_ns if last else None

    @property
    def wait_ns(self) -> int | None:
        """Phase ``wait`` of the last attempt."""
        last = self._last()
        return last.wait_ns if last else None

    @property
    def receive_ns(self) -> int | None:
        """Phase ``receive`` of the last attempt."""
        last = self._last()
        return last.receive_ns if last else None
