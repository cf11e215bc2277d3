"""Fills the records: what each moment of a call writes down and tells the listener.

How a call is followed. The outermost ``urlopen`` of this thread opens a call and leaves it in a
context variable. Each ``urlopen`` of a pool is an attempt: urllib3 calls it again for every retry and
redirect. ``_get_conn`` pins the attempt to the connection, where the connection's methods find it, and
``_put_conn`` or ``close`` takes it off: then the response has been read, released or given up. A call
ends when its outermost ``urlopen`` has returned and its last attempt has ended, whichever is later.

Nothing here runs when no hook is set.
"""

from __future__ import annotations

import contextvars
import itertools
import re
import sys
import time
import typing
from http.client import HTTPException

import urllib3.exceptions

from . import _events, _failures, _kernel
from ._errors import InvalidRequestError
from ._events import Event
from ._timing import Attempt, Timing

now = time.monotonic_ns

#: The call under way on this thread (or greenlet, or task).
current: contextvars.ContextVar[Timing | None] = contextvars.ContextVar("onewrite_call", default=None)

_connection_ids = itertools.count(1)
_userinfo = re.compile(r"(?<=://)[^/?#]*@")


class Hooks:
    """What a pool reports to; made once, looked up at the start of each call."""

    __slots__ = ("listener", "on_timing")

    def __init__(self, on_timing: typing.Any, listener: typing.Any) -> None:
        self.on_timing = on_timing
        self.listener = listener


def hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """The hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called or is no listener: better now than never heard of again.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    if listener is not None and not callable(getattr(listener, "on_event", None)):
        raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
    if disabled or (on_timing is None and listener is None):
        return None
    return Hooks(on_timing, listener)


class Link:
    """What is known of one connection between its requests."""

    __slots__ = ("conn_id", "idle_since", "info", "requests", "sock")

    def __init__(self, sock: typing.Any) -> None:
        self.sock = sock
        self.conn_id = next(_connection_ids)
        self.requests = 0
        self.idle_since = 0
        self.info: bytes | None = None


def _tell(attempt: Attempt, name: str, t_ns: int, **fields: typing.Any) -> None:
    _deliver(attempt._listener, Event(name, t_ns, attempt.index, fields))


def _deliver(listener: typing.Any, event: Event) -> None:
    # What a listener asks over HTTP itself is no part of this call.
    token = current.set(None)
    try:
        _events.deliver(listener, event)
    finally:
        current.reset(token)


# -- calls ------------------------------------------------------------------------------------------


def begin_call(hooks: Hooks, method: str, url: str) -> Timing:
    """A call has begun."""
    call = Timing(method, _userinfo.sub("", url) if "@" in url else url, hooks.on_timing, hooks.listener)
    call.started_at_unix_ns = time.time_ns()
    call.started_at_mono_ns = now()
    if call._listener is not None:
        fields = {"method": call.method, "url": call.url, "started_at_unix_ns": call.started_at_unix_ns}
        _deliver(call._listener, Event("call_start", call.started_at_mono_ns, None, fields))
    return call


def under_way() -> Timing | None:
    """The call of this thread that a urlopen would be a further attempt of.

    A request made while another one is being sent (by a generator that is its body) is a call of its own.
    """
    call = current.get()
    if call is None:
        return None
    last = call._last()
    if last is None or last._end or last._error is not None or last._headers_end:
        return call
    return None


def call_returned(call: Timing) -> None:
    """The outermost urlopen has returned a response."""
    call._returned = True
    last = call._last()
    if last is None or last._end:
        _end_call(call, None)
    elif last._link is None:
        # A connection that is not ours to watch (a recorder's stand-in): the response is all we see.
        end_attempt(last, "ok")


def call_failed(call: Timing, error: BaseException) -> None:
    """The outermost urlopen has raised *error*."""
    if call._ended:
        return
    last = call._last()
    phase = None
    if last is not None:
        phase = last._phase
        if not last._end:
            if last._error is None:
                last._error = error
            end_attempt(last, "error" if isinstance(error, Exception) else "cancelled")
    call.error_phase = phase
    _end_call(call, error)


def _end_call(call: Timing, error: BaseException | None) -> None:
    if call._ended:
        return
    call._ended = True
    last = call._last()
    if error is not None:
        call.error_kind = _failures.kind_of(error)
        call.outcome = "cancelled" if call.error_kind == "cancelled" else "error"
        if call.outcome == "cancelled":
            call.error_kind = None
        if call.error_phase is None:
            call.error_phase = "queue"
    else:
        call.outcome = "ok"
    end = last._end if last is not None and last._end else now()
    call.total_ns = max(end - call.started_at_mono_ns, 1)
    if call._listener is not None:
        fields = {"outcome": call.outcome, "error_kind": call.error_kind, "error_phase": call.error_phase}
        _deliver(call._listener, Event("call_end", end, None, fields))
    if call._on_timing is not None:
        token = current.set(None)
        try:
            call._on_timing(call)
        except Exception:
            _events.swallow(call._on_timing)
        finally:
            current.reset(token)


# -- attempts ---------------------------------------------------------------------------------------


def begin_attempt(call: Timing) -> Attempt:
    """A pool has begun to work on the call."""
    last = call._last()
    if last is not None and not last._end:
        end_attempt(last, "error" if last._error is not None else "ok")
    first = last is None
    attempt = Attempt(call, len(call.attempts), call.started_at_mono_ns if first and not call._listener else now())
    call.attempts.append(attempt)
    if attempt._listener is not None:
        _tell(attempt, "attempt_start", attempt._start)
    return attempt


def end_attempt(attempt: Attempt, outcome: str, released: bool | None = None) -> None:
    """The attempt is over; what has started is ended."""
    if attempt._end:
        return
    listener = attempt._listener
    end = attempt._end = now()
    attempt.outcome = outcome
    response = attempt._http
    came_back = outcome == "ok" and released is not None
    if came_back and not attempt._response_end and response is not None and response.isclosed():
        _body_read(attempt, end)
    attempt._http = attempt._response = None
    if listener is not None:
        if released is not None:
            _tell(attempt, "connection_released", end, reusable=released)
        _tell(attempt, "attempt_end", end, outcome=outcome)
    call = attempt._call
    if call._returned and attempt is call._last():
        if outcome == "ok":
            _end_call(call, None)
        else:
            call.error_phase = attempt._phase
            _end_call(call, attempt._error)


def queue_start(attempt: Attempt) -> None:
    """All connections of the pool are out: the request waits."""
    attempt._queue_start = now()
    if attempt._listener is not None:
        _tell(attempt, "queue_start", attempt._queue_start)


def queue_end(attempt: Attempt) -> None:
    """A connection came back, or none did in time."""
    attempt._queue_end = now()
    if attempt._listener is not None:
        _tell(attempt, "queue_end", attempt._queue_end)


def _link_of(conn: typing.Any, attempt: Attempt) -> Link:
    link: Link | None = conn._onewrite_link
    if link is None or link.sock is not conn.sock:
        link = conn._onewrite_link = Link(conn.sock)
    attempt._link = link
    return link


def took(conn: typing.Any, attempt: Attempt) -> None:
    """The pool gave *conn* to the attempt; a reused one is ready, a new one still has to connect."""
    conn._onewrite_attempt = attempt
    attempt._phase = "connect"
    if conn.sock is not None:
        acquired(conn, attempt, True)


def acquired(conn: typing.Any, attempt: Attempt, reused: bool) -> None:
    """The connection is ready for the request."""
    attempt._acquired = True
    link = _link_of(conn, attempt)
    link.requests += 1
    attempt.conn_id = link.conn_id
    attempt.reused = reused
    attempt.conn_requests = link.requests
    attempt._phase = "send"
    t = 0
    if reused and link.idle_since:
        t = now()
        attempt.idle_ns = t - link.idle_since
    if attempt._listener is not None:
        _tell(
            attempt,
            "connection_acquired",
            t or now(),
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
        _tell(attempt, "dns_start", attempt._dns_start, host=host)


def dns_end(attempt: Attempt, error: BaseException | None) -> None:
    """The name was looked up, or not found."""
    attempt._dns_end = now()
    if attempt._listener is not None:
        _tell(attempt, "dns_end", attempt._dns_end, error=None if error is None else str(error))


def connect_start(attempt: Attempt) -> None:
    """The socket is about to connect."""
    attempt._phase = "connect"
    attempt._connect_start = now()
    if attempt._listener is not None:
        _tell(attempt, "connect_start", attempt._connect_start)


def connect_end(attempt: Attempt, error: BaseException | None) -> None:
    """The socket has connected, and a tunnel was made where there is one."""
    if attempt._connect_end or not attempt._connect_start:
        return
    attempt._connect_end = now()
    if attempt._listener is not None:
        _tell(attempt, "connect_end", attempt._connect_end, error=None if error is None else str(error))


def tls_start(attempt: Attempt) -> None:
    """The handshake with the origin begins."""
    attempt._phase = "tls"
    attempt._tls_start = now()
    if attempt._listener is not None:
        _tell(attempt, "tls_start", attempt._tls_start)


def tls_end(attempt: Attempt, error: BaseException | None) -> None:
    """The handshake is over."""
    if attempt._tls_end or not attempt._tls_start:
        return
    attempt._tls_end = now()
    if attempt._listener is not None:
        _tell(attempt, "tls_end", attempt._tls_end, error=None if error is None else str(error))


def connect_failed(attempt: Attempt, error: BaseException) -> None:
    """connect() raised: end whichever step was under way."""
    connect_end(attempt, error)
    tls_end(attempt, error)
    attempt._error = error


# -- the exchange -----------------------------------------------------------------------------------


def request_start(conn: typing.Any, attempt: Attempt) -> None:
    """The first byte is about to be handed to the kernel."""
    if not attempt._acquired:
        acquired(conn, attempt, False)  # connected in a way of its own
    link = attempt._link
    # The reading at the last answer is this request's baseline: nothing was sent since.
    attempt._info_before = link.info or _kernel.read(conn.sock)
    attempt._request_start = now()
    if attempt._listener is not None:
        _tell(attempt, "request_start", attempt._request_start)


def request_end(attempt: Attempt) -> None:
    """The last write has returned."""
    if attempt._request_end or not attempt._request_start:
        return
    attempt._request_end = now()
    attempt._phase = "wait"
    if attempt._listener is not None:
        _tell(attempt, "request_end", attempt._request_end, bytes=attempt.bytes_sent, writes=attempt.writes)


def request_failed(attempt: Attempt, error: BaseException) -> None:
    """request() raised, perhaps because the server has already answered."""
    phase = "send" if isinstance(error, InvalidRequestError) else attempt._phase
    request_end(attempt)
    attempt._phase = phase
    attempt._error = error


def informational(attempt: Attempt, status: int) -> None:
    """An interim answer came."""
    if attempt._listener is not None:
        _tell(attempt, "informational", now(), status=status)


def response_start(conn: typing.Any, attempt: Attempt, t_ns: int) -> None:
    """The first byte of the final response was read at *t_ns*."""
    attempt._response_start = t_ns
    attempt._phase = "receive"
    sock = conn.sock
    if sock is not None:
        attempt._info_after = attempt._link.info = _kernel.read(sock)
    if attempt._listener is not None:
        _tell(attempt, "response_start", t_ns)


def headers_end(attempt: Attempt, status: int) -> None:
    """The head of the final response is complete."""
    attempt.status = status
    attempt._headers_end = now()
    attempt._error = None  # a write that broke because the server answered early did no harm
    if attempt._listener is not None:
        _tell(attempt, "headers_end", attempt._headers_end, status=status)


def _body_read(attempt: Attempt, t_ns: int) -> None:
    attempt._response_end = t_ns
    if attempt._expected is not None:
        attempt.bytes_received = attempt._expected
    elif attempt.bytes_received is None and attempt._response is not None:
        response = attempt._response()
        if response is not None:
            attempt.bytes_received = response.tell()
    if attempt._listener is not None:
        _tell(attempt, "response_end", t_ns, bytes=attempt.bytes_received)


def body_complete(attempt: Attempt) -> None:
    """The body was read to its end."""
    if not attempt._response_end:
        _body_read(attempt, now())


def response_failed(attempt: Attempt, error: BaseException) -> None:
    """getresponse() raised."""
    attempt._error = error


def closed(conn: typing.Any, attempt: Attempt) -> None:
    """The connection was closed while the attempt held it."""
    if attempt._in_response or attempt._connecting:
        return  # part of the exchange itself: "Connection: close", a tunnel that was refused
    if attempt._headers_end and attempt._error is None:
        # After the head only two close it: a caller who gives the body up, and urllib3 when a read
        # failed, which it does while that error is on its way.
        error = sys.exc_info()[1]
        if isinstance(error, (urllib3.exceptions.HTTPError, HTTPException, OSError)):
            attempt._error = error
    elif attempt._error is None:
        return
    conn._onewrite_attempt = None
    end_attempt(attempt, "ok" if attempt._error is None else "error", released=None)
