"""The finished record of a call and its attempts: values, which may be kept, copied and pickled."""

from __future__ import annotations

import dataclasses
import typing

from .kernel import KernelEvidence
from .server_timing import ServerTiming

T = typing.TypeVar("T")

PHASES = ("queue", "dns", "connect", "tls", "send", "wait", "receive", "total")

#: Each phase, and the events at its two ends.
_BOUNDS = (
    ("queue_ns", "queue_start", "queue_end"),
    ("dns_ns", "dns_start", "dns_end"),
    ("connect_ns", "connect_start", "connect_end"),
    ("tls_ns", "tls_start", "tls_end"),
    ("send_ns", "request_start", "request_end"),
    ("wait_ns", "request_end", "response_start"),
    ("receive_ns", "response_start", "response_end"),
    ("total_ns", "attempt_start", "attempt_end"),
)


def phases(at: typing.Mapping[str, int]) -> dict[str, int]:
    """Return the phases that have both their events, each at least 1 ns."""
    return {name: at[end] - at[start] or 1 for name, start, end in _BOUNDS if end in at and start in at}


def made(cls: type[T], fields: dict[str, typing.Any]) -> T:
    """Return a record with *fields* and the defaults. The constructor of a frozen dataclass takes much longer."""
    found = object.__new__(cls)
    object.__setattr__(found, "__dict__", fields)
    return found


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One attempt of a call: the first, or one for each retry and redirect.

    Phases are in nanoseconds; one that did not happen is None. ``dns_ns``, ``connect_ns`` and ``tls_ns`` are those of
    a new connection.
    """

    index: int
    #: ok, error or cancelled
    outcome: str | None = None
    status: int | None = None
    conn_id: int | None = None
    reused: bool | None = None
    #: How long a reused connection was idle.
    idle_ns: int | None = None
    #: Requests on the connection, this one included.
    conn_requests: int | None = None
    bytes_sent: int = 0
    writes: int = 0
    bytes_received: int | None = None
    #: Waited for a connection of the pool.
    queue_ns: int | None = None
    #: Looked the name up.
    dns_ns: int | None = None
    #: TCP handshake, and the CONNECT exchange with a proxy.
    connect_ns: int | None = None
    #: TLS handshake.
    tls_ns: int | None = None
    #: First byte to the kernel until the last write returned.
    send_ns: int | None = None
    #: Last write returned until the first byte of the final response was read.
    wait_ns: int | None = None
    #: First byte of the response until its last one; None when the body was not read to the end.
    receive_ns: int | None = None
    #: Begin to end of the attempt.
    total_ns: int | None = None
    #: The kernel's evidence, on Linux.
    kernel: KernelEvidence | None = None
    #: Why ``wait_ns`` is 20 ms or more: nagle_delayed_ack, retransmit, peer_window or server.
    cause: str | None = None
    #: The entries of the response's Server-Timing; None without one.
    server_timing: list[ServerTiming] | None = None
    #: The part of ``wait_ns`` that the server claims in its Server-Timing.
    server_ns: int | None = None
    #: The rest of ``wait_ns``: the network, proxies, queues before the server's clock.
    network_ns: int | None = None
    #: Monotonic time of each event (spec/events.yaml) in nanoseconds, by its name.
    at: dict[str, int] = dataclasses.field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record under its canonical names, absent values left out."""
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
            "kernel": self.kernel._asdict() if self.kernel else None,
            "cause": self.cause,
            "server_timing": [one.to_dict() for one in self.server_timing] if self.server_timing else None,
            "server_ns": self.server_ns,
            "network_ns": self.network_ns,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _text(self) -> str:
        found = []
        for phase in PHASES[:-1]:
            value: int | None = getattr(self, f"{phase}_ns")
            if value is None:
                continue
            text = f"{phase} {value / 1e6:.1f}"
            if phase == "wait":
                if self.cause == "server":
                    text += " (server)"
                elif self.cause is not None and self.kernel is not None:
                    text += f" (held {self.kernel.send_hold_ns / 1e6:.1f}: {self.cause})"
                if self.server_ns is not None and self.network_ns is not None:
                    text += f" = server {self.server_ns / 1e6:.1f} + network {self.network_ns / 1e6:.1f}"
            found.append(text)
        return ", ".join(found)


class _OfLast(typing.Generic[T]):
    """A field of the last attempt; None where there is none."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @typing.overload
    def __get__(self, timing: None, owner: type) -> _OfLast[T]: ...

    @typing.overload
    def __get__(self, timing: Timing, owner: type) -> T | None: ...

    def __get__(self, timing: Timing | None, owner: type) -> _OfLast[T] | T | None:
        if timing is None:
            return self
        return getattr(timing.attempts[-1], self._name) if timing.attempts else None


@dataclasses.dataclass(frozen=True)
class Timing:
    """The record of one call. Status, phases and the like are those of its last attempt."""

    method: str
    #: The URL of the request, without user, password and signatures.
    url: str
    attempts: list[Attempt] = dataclasses.field(default_factory=list)
    #: ok, error or cancelled
    outcome: str | None = None
    error_kind: str | None = None
    error_phase: str | None = None
    #: Wall clock at the start, in nanoseconds of the Unix epoch.
    started_at_unix_ns: int = 0
    #: Monotonic clock at the start, in nanoseconds.
    started_at_mono_ns: int = 0
    total_ns: int | None = None

    # The shortcuts of spec/events.yaml.
    status = _OfLast[int]()
    conn_id = _OfLast[int]()
    reused = _OfLast[bool]()
    kernel = _OfLast[KernelEvidence]()
    cause = _OfLast[str]()
    server_timing = _OfLast[list[ServerTiming]]()
    server_ns = _OfLast[int]()
    network_ns = _OfLast[int]()
    queue_ns = _OfLast[int]()
    dns_ns = _OfLast[int]()
    connect_ns = _OfLast[int]()
    tls_ns = _OfLast[int]()
    send_ns = _OfLast[int]()
    wait_ns = _OfLast[int]()
    receive_ns = _OfLast[int]()

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record under its canonical names (schemas/timing-v1.schema.json), absent values left out."""
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
        """Return one line: ``POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.0; reused conn 3``."""
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
        if self.attempts:
            phases_of_last = self.attempts[-1]._text()
            if phases_of_last:
                parts[0] += ": " + phases_of_last
            if self.conn_id is not None:
                parts.append(f"{'reused' if self.reused else 'new'} conn {self.conn_id}")
        if len(self.attempts) > 1:
            parts.append(f"attempt {len(self.attempts)}")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<Timing {self}>"
