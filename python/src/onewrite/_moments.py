"""The moments of an attempt: each writes its time down and tells the listener."""

from __future__ import annotations

import itertools
import sys
import time
import typing
from http.client import HTTPException

import urllib3.exceptions

from . import _kernel
from ._errors import InvalidRequestError
from ._events import Event, Told, deliver
from ._record import body_read, current, end_attempt, now, tell
from ._timing import Attempt, Plain, Timing

_connection_ids = itertools.count(1)

#: ``Event(…)`` without the detour over its signature.
event = tuple.__new__


class Link:
    """What is known of one connection between its requests."""

    __slots__ = ("conn_id", "idle_since", "info", "requests", "sock")

    def __init__(self, sock: typing.Any) -> None:
        self.sock = sock
        self.conn_id = next(_connection_ids)
        self.requests = 0
        self.idle_since = 0
        self.info: bytes | None = None


# -- a connection -----------------------------------------------------------------------------------


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


def acquired(conn: typing.Any, attempt: Attempt, reused: bool) -> None:
    """The connection is ready for the request."""
    link: Link | None = conn._onewrite_link
    if link is None or link.sock is not conn.sock:
        link = conn._onewrite_link = Link(conn.sock)
    attempt._link = link
    attempt._acquired = True
    attempt.conn_id = link.conn_id
    attempt.reused = reused
    attempt.conn_requests = link.requests = link.requests + 1
    attempt._phase = "send"
    t = 0
    if reused and link.idle_since:
        t = now()
        attempt.idle_ns = t - link.idle_since
    if attempt._listener is not None:
        tell(
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
        tell(attempt, "dns_start", attempt._dns_start, host=host)


def dns_end(attempt: Attempt, error: BaseException | None) -> None:
    """The name was looked up, or not found."""
    attempt._dns_end = now()
    if attempt._listener is not None:
        tell(attempt, "dns_end", attempt._dns_end, error=None if error is None else str(error))


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
        tell(attempt, "connect_end", attempt._connect_end, error=None if error is None else str(error))


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
        tell(attempt, "tls_end", attempt._tls_end, error=None if error is None else str(error))


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
        tell(attempt, "request_start", attempt._request_start)


def request_end(attempt: Attempt) -> None:
    """The last write has returned."""
    if attempt._request_end or not attempt._request_start:
        return
    attempt._request_end = now()
    attempt._phase = "wait"
    link = attempt._link
    if link is not None:
        attempt._info_sent = _kernel.read(link.sock, sent=True)
    if attempt._listener is not None:
        tell(attempt, "request_end", attempt._request_end, bytes=attempt.bytes_sent, writes=attempt.writes)


def request_failed(attempt: Attempt, error: BaseException) -> None:
    """request() raised, perhaps because the server has already answered."""
    phase = "send" if isinstance(error, InvalidRequestError) else attempt._phase
    request_end(attempt)
    attempt._phase = phase
    attempt._error = error


def informational(attempt: Attempt, status: int) -> None:
    """An interim answer came."""
    if attempt._listener is not None:
        tell(attempt, "informational", now(), status=status)


def response_start(conn: typing.Any, attempt: Attempt, t_ns: int) -> None:
    """The first byte of the final response was read at *t_ns*."""
    if not attempt._acquired and conn.sock is not None:
        acquired(conn, attempt, True)  # and the request was sent while install() was undone
    attempt._response_start = t_ns
    attempt._phase = "receive"
    sock, link = conn.sock, attempt._link
    if sock is not None and link is not None:
        info = attempt._info_sent
        if info is None or t_ns - attempt._request_end >= _kernel.SOON_NS:
            info = _kernel.read(sock)
            attempt._may_nagle = _kernel.may_nagle(sock, attempt.writes, t_ns - attempt._request_end)
        attempt._info_after = link.info = info
    if attempt._listener is not None:
        tell(attempt, "response_start", t_ns)


def headers_end(attempt: Attempt, status: int) -> None:
    """The head of the final response is complete."""
    attempt.status = status
    attempt._headers_end = attempt._response_start
    attempt._error = None  # a write that broke because the server answered early did no harm
    if attempt._listener is not None:  # no phase needs to know when
        attempt._headers_end = now()
        tell(attempt, "headers_end", attempt._headers_end, status=status)


def body_complete(attempt: Attempt) -> None:
    """The body was read to its end."""
    if not attempt._response_end:
        body_read(attempt, now())


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


# -- an exchange in a straight line (_straight): several moments at once -----------------------------


def told_before(
    told: Told, link: Link, method: str, url: str, started: int, acquired: int, idle_ns: int | None
) -> int:
    """Tell the listener what comes before the first byte of a request; return when that is."""
    fields: dict[str, typing.Any]
    if "call_start" in told:
        fields = {"method": method, "url": url, "started_at_unix_ns": time.time_ns() - (now() - started)}
        deliver(told["call_start"], event(Event, ("call_start", started, None, fields)))
    if "attempt_start" in told:
        deliver(told["attempt_start"], event(Event, ("attempt_start", started, 0, {})))
    if "connection_acquired" in told:
        fields = {"conn_id": link.conn_id, "reused": True, "idle_ns": idle_ns, "conn_requests": link.requests + 1}
        deliver(told["connection_acquired"], event(Event, ("connection_acquired", acquired, 0, fields)))
    t_ns = now()
    if "request_start" in told:
        deliver(told["request_start"], event(Event, ("request_start", t_ns, 0, {})))
    return t_ns


def told_after(told: Told, first: int, end: int, status: int, size: int, reusable: bool) -> None:
    """Tell the listener of an answer that came whole, and of the end."""
    if "response_start" in told:
        deliver(told["response_start"], event(Event, ("response_start", first, 0, {})))
    if "headers_end" in told:
        deliver(told["headers_end"], event(Event, ("headers_end", first, 0, {"status": status})))
    if "response_end" in told:
        deliver(told["response_end"], event(Event, ("response_end", first, 0, {"bytes": size})))
    if "connection_released" in told:
        deliver(told["connection_released"], event(Event, ("connection_released", end, 0, {"reusable": reusable})))
    if "attempt_end" in told:
        deliver(told["attempt_end"], event(Event, ("attempt_end", end, 0, {"outcome": "ok"})))
    if "call_end" in told:
        fields = {"outcome": "ok", "error_kind": None, "error_phase": None}
        deliver(told["call_end"], event(Event, ("call_end", end, None, fields)))


# -- a call that turns out not to go plainly -------------------------------------------------------------


def unfold(call: Timing, conn: typing.Any, listener: typing.Any = None) -> Attempt | None:
    """Follow *call* moment by moment from here on; return its attempt, which has *conn*, where one has begun."""
    if type(call) is not Plain:
        return call._last()
    attempt = call.unfold()
    if attempt is not None and conn is not None:
        if attempt._acquired:
            attempt._link = conn._onewrite_link
        else:
            acquired(conn, attempt, True)
            attempt._info_before = attempt._link.info
    if listener is not None:
        call._listener = listener
        if attempt is not None:
            attempt._listener = listener
    return attempt


def unfold_installed(call: Timing) -> Attempt | None:
    """The same of a call under install(): it knows its connection."""
    if type(call) is not Plain:
        return call._last()
    conn, call._conn = call._conn, None
    attempt = unfold(call, conn)
    call._installed = True
    if conn is not None and conn._onewrite_attempt is call:
        conn._onewrite_attempt = attempt
    return attempt


def followed(attempt: Attempt | Timing) -> Attempt:
    """*attempt*, or that of the call that went plainly and was in its place, followed from here on."""
    if isinstance(attempt, Attempt):
        return attempt
    found = unfold_installed(attempt)
    assert found is not None, "it was given a connection, so it has begun"
    return found


def pinned(conn: typing.Any, attempt: Attempt | Plain) -> Attempt | Plain | None:
    """*attempt*, to which *conn* was given, where it is the one that now uses it.

    One that is over, or another call's that was sent before, was left there when install() was undone.
    """
    if isinstance(attempt, Attempt):
        call, sent = attempt._call, attempt._request_start
    else:
        call, sent = attempt, attempt._sent
    if attempt._end or (sent and current.get() is not call):
        conn._onewrite_attempt = None
        return None
    return attempt


def followed_now(conn: typing.Any, attempt: Attempt | Plain) -> Attempt | None:
    """*attempt*, to which *conn* was given, followed from here on; None where it is not the one that now uses it."""
    now_using = pinned(conn, attempt)
    return None if now_using is None else followed(now_using)
