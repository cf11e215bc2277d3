"""The moments of an attempt: each writes its time down and tells the listener.

A seam calls them in the order of spec/events.yaml. Nothing here knows which library it watches: a
connection is its ``Link`` and its socket.
"""

from __future__ import annotations

import contextvars
import time
import typing

from . import cause, events, kernel, server_timing
from .connection import Link
from .events import Event
from .record import Attempt, Timing

now = time.monotonic_ns

#: The call under way on this thread (or greenlet, or task).
current: contextvars.ContextVar[Timing | None] = contextvars.ContextVar("onewrite_call", default=None)


def tell(attempt: Attempt, name: str, t_ns: int, **fields: typing.Any) -> None:
    """Tell the listener of *attempt*, if it listens to that, of an event."""
    methods = attempt._listener.get(name)
    if methods is not None:
        deliver(methods, Event(name, t_ns, attempt.index, fields, attempt._call))


def deliver(methods: typing.Any, event: Event) -> None:
    """Hand *event* to *methods*. A request that one of them makes is a call of its own."""
    if current.get() is None:
        events.deliver(methods, event)
        return
    token = current.set(None)
    try:
        events.deliver(methods, event)
    finally:
        current.reset(token)


def _error(error: BaseException | None) -> str | None:
    return None if error is None else str(error)


# -- the pool ---------------------------------------------------------------------------------------


def queue_start(attempt: Attempt) -> None:
    """All connections of the pool are out: the request waits."""
    attempt._queue_start = now()
    if attempt._listener is not None:
        tell(attempt, "queue_start", attempt._queue_start)


def queue_end(attempt: Attempt) -> None:
    """A connection came back, or none did in time."""
    attempt._queue_end = now()
    if attempt._listener is not None:
        tell(attempt, "queue_end", attempt._queue_end)


def acquired(attempt: Attempt, link: Link, reused: bool) -> None:
    """The connection *link* is ready for the request."""
    attempt._link = link
    attempt._acquired = True
    attempt.conn_id = link.conn_id
    attempt.reused = reused
    attempt.conn_requests = link.requests = link.requests + 1
    attempt._phase = "send"
    t_ns = 0
    if reused and link.idle_since:
        t_ns = now()
        attempt.idle_ns = t_ns - link.idle_since
    if attempt._listener is not None:
        tell(
            attempt,
            "connection_acquired",
            t_ns or now(),
            conn_id=link.conn_id,
            reused=reused,
            idle_ns=attempt.idle_ns,
            conn_requests=link.requests,
        )


# -- connecting -------------------------------------------------------------------------------------


def dns_start(attempt: Attempt, host: str) -> None:
    """The name is being looked up."""
    attempt._phase = "dns"
    attempt._dns_start = now()
    if attempt._listener is not None:
        tell(attempt, "dns_start", attempt._dns_start, host=host)


def dns_end(attempt: Attempt, error: BaseException | None) -> None:
    """The name was looked up, or not found."""
    attempt._dns_end = now()
    if attempt._listener is not None:
        tell(attempt, "dns_end", attempt._dns_end, error=_error(error))


def connect_start(attempt: Attempt) -> None:
    """The socket is about to connect."""
    attempt._phase = "connect"
    attempt._connect_start = now()
    if attempt._listener is not None:
        tell(attempt, "connect_start", attempt._connect_start)


def connect_end(attempt: Attempt, error: BaseException | None) -> None:
    """The socket has connected, and a tunnel was made where there is one."""
    if attempt._connect_end or not attempt._connect_start:
        return
    attempt._connect_end = now()
    if attempt._listener is not None:
        tell(attempt, "connect_end", attempt._connect_end, error=_error(error))


def tls_start(attempt: Attempt) -> None:
    """The handshake with the origin begins."""
    attempt._phase = "tls"
    attempt._tls_start = now()
    if attempt._listener is not None:
        tell(attempt, "tls_start", attempt._tls_start)


def tls_end(attempt: Attempt, error: BaseException | None) -> None:
    """The handshake is over."""
    if attempt._tls_end or not attempt._tls_start:
        return
    attempt._tls_end = now()
    if attempt._listener is not None:
        tell(attempt, "tls_end", attempt._tls_end, error=_error(error))


def connect_failed(attempt: Attempt, error: BaseException) -> None:
    """Connecting raised: end whichever step was under way."""
    connect_end(attempt, error)
    tls_end(attempt, error)
    attempt._error = error


# -- the exchange -----------------------------------------------------------------------------------


def request_start(attempt: Attempt) -> None:
    """The first byte is about to be handed to the kernel. The connection was acquired."""
    link = attempt._link
    attempt._info_before = link.info or kernel.read(link.sock)
    attempt._request_start = now()
    if attempt._listener is not None:
        tell(attempt, "request_start", attempt._request_start)


def request_end(attempt: Attempt) -> None:
    """The last write has returned."""
    if attempt._request_end or not attempt._request_start:
        return
    attempt._request_end = now()
    attempt._phase = "wait"
    attempt._info_sent = kernel.read(attempt._link.sock, sent=True)
    if attempt._listener is not None:
        tell(attempt, "request_end", attempt._request_end, bytes=attempt.bytes_sent, writes=attempt.writes)


def request_failed(attempt: Attempt, error: BaseException, refused: bool) -> None:
    """Sending raised, perhaps because the server has already answered; *refused*: by onewrite itself."""
    phase = "send" if refused else attempt._phase
    request_end(attempt)
    attempt._phase = phase
    attempt._error = error


def informational(attempt: Attempt, status: int) -> None:
    """An interim answer came."""
    if attempt._listener is not None:
        tell(attempt, "informational", now(), status=status)


def response_start(attempt: Attempt, t_ns: int) -> None:
    """The first byte of the final response was read at *t_ns*."""
    attempt._response_start = t_ns
    attempt._phase = "receive"
    link = attempt._link
    sock = None if link is None else link.sock
    if sock is not None:
        info = attempt._info_sent
        # Where all was sent and the answer came at once, the reading made while waiting says the same.
        if info is None or t_ns - attempt._request_end >= kernel.SOON_NS:
            info = kernel.read(sock)
            attempt._may_nagle = cause.may_nagle(sock, attempt.writes, t_ns - attempt._request_end)
        attempt._info_after = link.info = info
    if attempt._listener is not None:
        tell(attempt, "response_start", t_ns)


def headers_end(attempt: Attempt, status: int, server_timings: typing.Iterable[str] | None) -> None:
    """The head of the final response is complete; *server_timings* are the values of its Server-Timing."""
    attempt.status = status
    if server_timings:
        attempt.server_timing = server_timing.parse(server_timings)
    attempt._headers_end = attempt._response_start
    attempt._error = None  # a write that broke because the server answered early did no harm
    if attempt._listener is not None:  # no phase needs to know when
        attempt._headers_end = now()
        tell(attempt, "headers_end", attempt._headers_end, status=status)


def response_end(attempt: Attempt, t_ns: int, received: int | None) -> None:
    """The body was read to its end, *received* bytes of it, at *t_ns*."""
    if attempt._response_end:
        return
    attempt._response_end = t_ns
    if received is not None:
        attempt.bytes_received = received
    if attempt._listener is not None:
        tell(attempt, "response_end", t_ns, bytes=attempt.bytes_received)


def failed(attempt: Attempt, error: BaseException) -> None:
    """Reading the response raised."""
    attempt._error = error
