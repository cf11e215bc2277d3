"""How calls and their attempts begin and end, and how a call is found again.

The outermost request of a thread opens a call and leaves it in the context variable ``attempt.current``.
Each try of the library below, a first one, a retry, a redirect, is an attempt of it. A call ends when the
outermost request has returned and its last attempt has ended, whichever is later: a response may be read
long after it was returned.

Nothing here runs when no hook is set.
"""

from __future__ import annotations

import re
import time
import typing

from .._errors import kind_of
from . import attempt as moments
from . import events
from .attempt import current, now, tell
from .events import Event
from .hooks import Hooks
from .record import Attempt, Timing

#: Where the authority of a URL begins: behind the scheme and its slashes, or at once; a path has none.
_BEFORE_AUTHORITY = re.compile(r"\s*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?//|(?![/\\?#\s]))", re.IGNORECASE).match
_AUTHORITY = re.compile(r"[^/\\?#]*").match
_WITHOUT_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?").fullmatch
_SIGNATURE = re.compile(r"(?<=[?&])(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&#]*")


def redacted(url: str) -> str:
    """*url* without user, password and signatures, also where it is not one that anybody would send (SEC-17)."""
    if "@" in url:
        before = _BEFORE_AUTHORITY(url)
        if before is not None:
            start = before.end()
            authority = _AUTHORITY(url, start)
            assert authority is not None, "it may be empty"
            if "@" in authority[0]:
                url = url[:start] + url[start + authority[0].rindex("@") + 1 :]
            elif not _WITHOUT_PORT(authority[0]):  # a password with a "/", "?" or "#" that is not escaped
                url = url[:start] + url.rpartition("@")[2]
    if "sig=" not in url and "Signature=" not in url and "AWSAccessKeyId=" not in url:
        return url
    mark = url.find("?")
    fragment = url.find("#")
    if mark < 0 or 0 <= fragment < mark:
        return url
    end = len(url) if fragment < 0 else fragment
    return url[:mark] + _SIGNATURE.sub(r"\1=REDACTED", url[mark:end]) + url[end:]


# -- calls ------------------------------------------------------------------------------------------


def begin(hooks: Hooks, method: str, url: str) -> Timing:
    """A call has begun."""
    call = Timing(method, redacted(url), hooks.on_timing, hooks.listener)
    call.started_at_unix_ns = time.time_ns()
    call.started_at_mono_ns = now()
    if call._listener is not None:
        fields = {"method": call.method, "url": call.url, "started_at_unix_ns": call.started_at_unix_ns}
        _tell(call, "call_start", call.started_at_mono_ns, **fields)
    return call


def under_way() -> Timing | None:
    """The call of this thread that a request would be a further attempt of.

    A request made while another one is being sent (by a generator that is its body) is a call of its own.
    """
    call = current.get()
    # A context that was copied during a call still has that call after its end.
    if call is None or call._returned or call._ended:
        return None
    if not call.attempts:
        return call
    last = call.attempts[-1]
    if last._end or last._error is not None or last._headers_end:
        return call
    return None


def returned(call: Timing) -> None:
    """The outermost request has returned a response."""
    call._returned = True
    last = call.attempts[-1] if call.attempts else None
    if last is None or last._end:
        _end(call, None)
    elif last._link is None:
        # A connection that is not onewrite's (a recorder's stand-in): nothing else ends the call.
        end_attempt(last, "ok")
    else:
        call._if_freed = _freed


def _freed(call: Timing) -> None:
    """The collector has found the response unread in a cycle of references.

    It may free the parts of a response in an order in which urllib3 closes no connection, and so ends no attempt.
    """
    last = call.attempts[-1]
    end_attempt(last, "ok" if last._error is None else "error")


def failed(call: Timing, error: BaseException) -> None:
    """The outermost request has raised *error*."""
    if call._ended:
        return
    last = call._last()
    if last is not None:
        call.error_phase = last._phase
        if not last._end:
            if last._error is None:
                last._error = error
            end_attempt(last, "error" if isinstance(error, Exception) else "cancelled")
    _end(call, error)


def _end(call: Timing, error: BaseException | None) -> None:
    """The call is over: make its record whole and hand it out."""
    if call._ended:
        return
    call._ended = True
    last = None
    for last in call.attempts:
        # Without these references there is no cycle, and a record that is kept keeps no socket open.
        last._call = last._link = last._error = None
    if error is not None:
        call.error_kind = kind_of(error)
        call.outcome = "cancelled" if call.error_kind == "cancelled" else "error"
        if call.error_phase is None:
            call.error_phase = "queue"
    else:
        call.outcome = "ok"
    end = last._end if last is not None and last._end else now()
    call.total_ns = max(end - call.started_at_mono_ns, 1)
    if call._listener is not None:
        fields = {"outcome": call.outcome, "error_kind": call.error_kind, "error_phase": call.error_phase}
        _tell(call, "call_end", end, **fields)
    if call._on_timing:
        # A request that a hook makes is a call of its own.
        token = current.set(None) if current.get() is not None else None
        try:
            for on_timing in call._on_timing:
                try:
                    on_timing(call)
                except Exception:
                    events.swallow(on_timing)
        finally:
            if token is not None:
                current.reset(token)


def _tell(call: Timing, name: str, t_ns: int, **fields: typing.Any) -> None:
    methods = call._listener.get(name)
    if methods is not None:
        moments.deliver(methods, Event(name, t_ns, None, fields, call))


# -- attempts ---------------------------------------------------------------------------------------


def begin_attempt(call: Timing) -> Attempt:
    """The library below has begun to work on the call, for the first time or again."""
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


def end_attempt(attempt: Attempt, outcome: str, reusable: bool | None = None, t_ns: int = 0) -> None:
    """The attempt is over, since *t_ns* or now.

    *reusable* says of a connection that was given back whether it can carry another request.
    """
    if attempt._end:
        return
    end = attempt._end = t_ns or now()
    attempt.outcome = outcome
    error = attempt._error
    if error is not None:
        attempt._error = None  # its traceback leads to the library's frames, and so to a later attempt's response
    attempt._http = attempt._response = None
    if attempt._link is not None:
        attempt._link.released(attempt.conn_requests)
    if attempt._listener is not None:
        if reusable is not None:
            tell(attempt, "connection_released", end, reusable=reusable)
        tell(attempt, "attempt_end", end, outcome=outcome)
    call = attempt._call
    if call is not None and call._returned and attempt is call.attempts[-1]:
        if outcome == "ok":
            _end(call, None)
        else:
            call.error_phase = attempt._phase
            _end(call, error)
