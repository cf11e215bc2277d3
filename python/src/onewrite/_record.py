"""Fills the records: how a call and its attempts begin and end.

How a call is followed. The outermost ``urlopen`` of this thread opens a call and leaves it in a
context variable. Each ``urlopen`` of a pool is an attempt: urllib3 calls it again for every retry and
redirect. ``_get_conn`` pins the attempt to the connection, where the connection's methods find it, and
``_put_conn`` or ``close`` takes it off: then the response has been read, released or given up. A call
ends when its outermost ``urlopen`` has returned and its last attempt has ended, whichever is later.
What happens to an attempt in between is in ``_moments``.

Nearly every call under install() goes plainly: one attempt on a connection that is open, sent in one piece,
answered, read, released; and nobody listens to events. Such a call is one object, a ``Plain``, that stands in
both places, the context variable and the connection, and in which the methods that ``_install`` replaces note
the time. The first that meets with anything else (a new connection, a body in pieces, an interim answer, an
unread body, an error, a retry, a redirect, a request within the request) calls ``_moments.unfold``: the same
object is then a Timing with an Attempt, as if it had been followed from the start, and goes on as such. Own
classes keep a call of ``_straight`` in the same way.

Nothing here runs when no hook is set.
"""

from __future__ import annotations

import contextvars
import re
import threading
import time
import typing
import weakref

from . import _events, _failures
from ._events import Event
from ._hooks import Hooks
from ._timing import Attempt, Plain, Timing

now = time.monotonic_ns

#: The call under way on this thread (or greenlet, or task).
current: contextvars.ContextVar[Timing | None] = contextvars.ContextVar("onewrite_call", default=None)

_userinfo = re.compile(r"(?<=://)[^/?#]*@")


def tell(attempt: Attempt, name: str, t_ns: int, **fields: typing.Any) -> None:
    """Tell the listener of *attempt*, if it listens to that, of an event."""
    methods = attempt._listener.get(name)
    if methods is not None:
        _deliver(methods, Event(name, t_ns, attempt.index, fields))


def _tell_call(call: Timing, name: str, t_ns: int, **fields: typing.Any) -> None:
    methods = call._listener.get(name)
    if methods is not None:
        _deliver(methods, Event(name, t_ns, None, fields))


def _deliver(methods: typing.Any, event: Event) -> None:
    # What a listener asks over HTTP itself is no part of this call.
    if current.get() is None:
        _events.deliver(methods, event)
        return
    token = current.set(None)
    try:
        _events.deliver(methods, event)
    finally:
        current.reset(token)


# -- calls ------------------------------------------------------------------------------------------


def without_userinfo(url: str) -> str:
    """*url* without user and password."""
    return _userinfo.sub("", url)


def url_of(pool: typing.Any, target: str) -> str:
    """The URL that a pool is asked for: an IPv6 address stands in brackets (RFC 3986, 3.2.2; zone: RFC 6874)."""
    host: str = pool.host
    if ":" in host and host[:1] != "[":
        address, percent, zone = host.partition("%")
        host = f"[{address}%25{zone.removeprefix('25')}]" if percent else f"[{host}]"
    port = f":{pool.port}" if pool.port else ""
    return f"{pool.scheme}://{host}{port}{target}"


def begin_call(hooks: Hooks, method: str, url: str) -> Timing:
    """A call has begun."""
    call = Timing(method, without_userinfo(url) if "@" in url else url, hooks.on_timing, hooks.listener)
    if hooks.installed:
        call._installed = True
    call.started_at_unix_ns = time.time_ns()
    call.started_at_mono_ns = now()
    if call._listener is not None:
        fields = {"method": call.method, "url": call.url, "started_at_unix_ns": call.started_at_unix_ns}
        _tell_call(call, "call_start", call.started_at_mono_ns, **fields)
    return call


_new_plain = Plain.__new__


def begin_plain(method: str, url: str, on_timing: typing.Any, attempted: bool) -> Plain:
    """A call has begun, and goes plainly so far; with *attempted* it has got as far as a pool."""
    call = _new_plain(Plain)
    call.method = method
    call.url = without_userinfo(url) if "@" in url else url
    call._on_timing = on_timing
    call._attempted = call._unserved = attempted
    call._started = now()
    return call


def call_returned(call: Timing) -> None:
    """The outermost urlopen has returned a response."""
    call._returned = True
    last = call.attempts[-1] if call.attempts else None
    if last is None or last._end:
        end_call(call, None)
    elif last._link is None:
        # A connection that is not ours to watch (a recorder's stand-in): the response is all we see.
        end_attempt(last, "ok")
    elif call._installed:
        with _streaming_lock:
            _streaming.add(call)
        if unwatched:
            end_unwatched()


#: Calls under install() whose response is still being read: uninstall() ends what watches them.
_streaming: weakref.WeakSet[Timing] = weakref.WeakSet()
_streaming_lock = threading.Lock()
#: Whether install() was undone; looked at once a call can be seen in ``_streaming``, so that none is forgotten.
unwatched = False


def end_unwatched() -> None:
    """End the calls whose end nobody would see any more."""
    with _streaming_lock:
        calls = list(_streaming)
        _streaming.clear()
    for call in calls:
        if not call._ended:
            end_attempt(call.attempts[-1], "ok")


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
    end_call(call, error)


def end_call(call: Timing, error: BaseException | None) -> None:
    """The call is over: make its record whole and hand it out."""
    if call._ended:
        return
    call._ended = True
    last = None
    for last in call.attempts:
        # A ring of references would live until the collector comes, and a record that is kept keeps no socket.
        last._call = last._link = last._error = None
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
        _tell_call(call, "call_end", end, **fields)
    if call._on_timing is not None:
        # What it asks over HTTP itself is no part of the call around this one, where there is one.
        token = current.set(None) if current.get() is not None else None
        try:
            call._on_timing(call)
        except Exception:
            _events.swallow(call._on_timing)
        finally:
            if token is not None:
                current.reset(token)


def hand_out(call: Plain) -> None:
    """A call that went plainly is over: hand its record out."""
    on_timing, call._on_timing = call._on_timing, None
    try:
        on_timing(call)
    except Exception:
        _events.swallow(on_timing)


# -- attempts ---------------------------------------------------------------------------------------


def begin_attempt(call: Timing) -> Attempt:
    """A pool has begun to work on the call."""
    attempts = call.attempts
    if not attempts and call._listener is None:
        attempt = Attempt(call, 0, call.started_at_mono_ns)
        attempts.append(attempt)
        return attempt
    if attempts and not attempts[-1]._end:
        end_attempt(attempts[-1], "error" if attempts[-1]._error is not None else "ok")
    attempt = Attempt(call, len(attempts), now())
    attempts.append(attempt)
    if attempt._listener is not None:
        tell(attempt, "attempt_start", attempt._start)
    return attempt


def end_attempt(attempt: Attempt, outcome: str, released: bool | None = None, t_ns: int = 0) -> None:
    """The attempt is over, since *t_ns* or now; what has started is ended."""
    if attempt._end:
        return
    listener = attempt._listener
    end = attempt._end = t_ns or now()
    attempt.outcome = outcome
    error = attempt._error
    if error is not None:
        attempt._error = None  # its traceback leads to urlopen, and so to the response of a later attempt
    response = attempt._http
    came_back = outcome == "ok" and released is not None
    if came_back and not attempt._response_end and response is not None and response.isclosed():
        body_read(attempt, end)
    attempt._http = attempt._response = None
    if listener is not None:
        if released is not None:
            tell(attempt, "connection_released", end, reusable=released)
        tell(attempt, "attempt_end", end, outcome=outcome)
    call = attempt._call
    if call is not None and call._returned and attempt is call.attempts[-1]:
        if outcome == "ok":
            end_call(call, None)
        else:
            call.error_phase = attempt._phase
            end_call(call, error)


def body_read(attempt: Attempt, t_ns: int) -> None:
    attempt._response_end = t_ns
    if attempt._expected is not None:
        attempt.bytes_received = attempt._expected
    elif attempt.bytes_received is None and attempt._response is not None:
        response = attempt._response()
        if response is not None:
            attempt.bytes_received = response.tell()
    if attempt._listener is not None:
        tell(attempt, "response_end", t_ns, bytes=attempt.bytes_received)
