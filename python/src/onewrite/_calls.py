"""What onewrite does around the methods of pools and managers when a hook is set."""

from __future__ import annotations

import typing

from . import _base, _moments, _reading, _record, _straight
from ._hooks import Hooks
from ._timing import Attempt, Plain, Timing

Original = typing.Callable[..., typing.Any]


def call(hooks: Hooks, original: Original, method: str, url: str, args: typing.Any, kwargs: typing.Any) -> typing.Any:
    """Run the outermost *original* as a call."""
    ahead = _straight.ahead(kwargs)
    begun = None if ahead is None else ahead.attempt
    timing = _record.begin_call(hooks, method, url) if begun is None else begun._call
    outer = _record.current.get()
    # Somebody may give up between any two steps: what is set is set back then, too.
    try:
        _record.current.set(timing)
        response = original(method, *args, **kwargs)
        _record.current.set(outer)
    except BaseException as error:
        _record.current.set(outer)
        _record.call_failed(timing, error)
        raise
    returned(timing, response)
    try:
        return response
    finally:
        # A response keeps the errors of its retries, their tracebacks the frames they came through, and those
        # this one: a ring that would hold the connection until the collector comes.
        del response


def returned(timing: Timing, response: typing.Any) -> None:
    """The outermost urlopen has returned *response*."""
    _moments.unfold_installed(timing)
    if _base.IS_V1:
        _reading.returned(timing, response)
    _record.call_returned(timing)


def under_way() -> Timing | None:
    """The call of this thread that a urlopen would be a further attempt of.

    A request made while another one is being sent (by a generator that is its body) is a call of its own.
    """
    call = _record.current.get()
    if type(call) is Plain:
        if call._on_timing is None or (call._attempted and call.status is None):
            return None
        _moments.unfold_installed(call)
    # One that is over is met in a context that was copied while it ran.
    if call is None or call._returned or call._ended:
        return None
    if not call.attempts:
        return call
    last = call.attempts[-1]
    if last._end or last._error is not None or last._headers_end:
        return call
    return None


def manager_urlopen(
    hooks: Hooks, original: Original, method: str, url: str, args: typing.Any, kwargs: typing.Any
) -> typing.Any:
    """A manager's urlopen: a call, or a redirect of the one under way."""
    if under_way() is not None:
        return original(method, url, *args, **kwargs)
    return call(hooks, original, method, url, (url, *args), kwargs)


def pool_urlopen(
    pool: typing.Any,
    hooks: Hooks,
    original: Original,
    method: str,
    url: str,
    args: typing.Any,
    kwargs: typing.Any,
) -> typing.Any:
    """A pool's urlopen: an attempt of the call under way, or of a new one."""
    ahead = _straight.ahead(kwargs)
    if ahead is not None and ahead.attempt is not None and ahead.attempt._call is _record.current.get():
        return original(method, url, *args, **kwargs)  # the attempt has begun
    timing = under_way()
    if timing is not None:
        _record.begin_attempt(timing)
        return original(method, url, *args, **kwargs)

    def attempt(method: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        timing = _record.current.get()
        assert timing is not None
        if _straight.ahead(kwargs) is None:  # else it has begun
            _record.begin_attempt(timing)
        return original(method, *args, **kwargs)

    whole = url
    if url.startswith("/"):
        whole = _record.url_of(pool, url)
    return call(hooks, attempt, method, whole, (url, *args), kwargs)


def waits(pool: typing.Any) -> bool:
    """Whether the next one who asks *pool* for a connection has to wait for it."""
    return bool(pool.block and pool.pool is not None and pool.pool.qsize() == 0)


def get_conn(pool: typing.Any, original: Original, args: typing.Any, kwargs: typing.Any) -> typing.Any:
    """A pool's _get_conn: pins the attempt to the connection. There is no public place between the two."""
    call = _record.current.get()
    if type(call) is Plain and not call._unserved:
        return original(*args, **kwargs)
    attempt = None if call is None else _moments.unfold_installed(call)
    if attempt is None or attempt._end or attempt._link is not None or attempt._phase != "queue":
        return original(*args, **kwargs)
    waiting = waits(pool)
    if waiting:
        _moments.queue_start(attempt)
    try:
        conn = original(*args, **kwargs)
    finally:
        if waiting:
            _moments.queue_end(attempt)
    pin(conn, attempt)
    return conn


def pin(conn: typing.Any, attempt: Attempt) -> None:
    """*conn* was given to *attempt*."""
    if hasattr(conn, "_onewrite_link"):  # else one of a class that we do not watch
        conn._onewrite_attempt = attempt
        attempt._phase = "connect"
        if conn.sock is not None:  # else it still has to connect
            _moments.acquired(conn, attempt, True)


def put_conn(original: Original, conn: typing.Any) -> None:
    """A pool's _put_conn: the response was read to its end or released."""
    pinned = getattr(conn, "_onewrite_attempt", None)
    if pinned is None:
        original(conn)
        return
    attempt = _moments.followed(pinned)
    conn._onewrite_attempt = None
    # Read before the connection is given away: another thread may have it a moment later.
    http = attempt._http
    complete = bool(attempt._response_end) or (http is not None and http.isclosed())
    reusable = complete and conn.sock is not None
    t_ns = _record.now()
    if attempt._link is not None:
        attempt._link.idle_since = t_ns
    original(conn)
    if conn.sock is None:
        reusable = False  # the pool was full, or closed
    _record.end_attempt(attempt, "ok" if attempt._error is None else "error", reusable, t_ns)
