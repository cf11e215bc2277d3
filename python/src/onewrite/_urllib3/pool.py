"""In front of urllib3's pools: a pool's connections send in one write, and its requests are timed.

The outermost ``urlopen`` of a thread is a call. urllib3 calls it again for each retry and redirect, with a ``Retry``
whose history has grown: that is another attempt of the call. Any other request that is made meanwhile (by an exporter,
a log handler, a hook, a body, a retry policy) is a call of its own.
"""

from __future__ import annotations

import typing

import urllib3.connectionpool

from .._base_version import genuine, require
from .._config import Options
from .._front import Front
from .._settings import installations, take
from .._timing.hooks import Hooks
from .._timing.record import Call, begin, current, now
from .connection import OneWrite, adopt
from .response import watch

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack
    from urllib3.connectionpool import HTTPConnectionPool as _HTTPConnectionPool
    from urllib3.connectionpool import HTTPSConnectionPool as _HTTPSConnectionPool

    from .._keywords import PoolKeywords

    _Behind = _HTTPConnectionPool
else:
    _Behind = Front
    _HTTPConnectionPool = genuine(urllib3.connectionpool, "HTTPConnectionPool")
    _HTTPSConnectionPool = genuine(urllib3.connectionpool, "HTTPSConnectionPool")


def hooks_of(owner: typing.Any) -> Hooks | None:
    """Return the hooks of a pool or manager and those of install(), which add."""
    own: Hooks | None = owner._onewrite_hooks
    installed = installations.hooks
    if own is None or installed is None:
        return own or installed
    return own.beside(installed)


def history(retries: typing.Any) -> int:
    """Return how many attempts *retries*, the argument of an urlopen(), has seen."""
    return len(getattr(retries, "history", ()))


def repeated(call: Call | None, retries: typing.Any) -> bool:
    """Return whether an urlopen() with *retries* repeats the request of *call*; if so, begin the attempt."""
    if call is None or call.returned or call.ended_at_mono_ns or call.running is not None:
        return False
    seen = history(retries)
    if seen <= call.seen:
        return False
    call.seen = seen
    call.next_attempt()
    return True


def url_of(pool: typing.Any, target: str) -> str:
    """Return the URL of a pool's *target*: an IPv6 address stands in brackets (RFC 3986, 3.2.2; zone: RFC 6874)."""
    host: str = pool.host
    if ":" in host and host[:1] != "[":
        address, percent, zone = host.partition("%")
        host = f"[{address}%25{zone.removeprefix('25')}]" if percent else f"[{host}]"
    port = pool.port
    return f"{pool.scheme}://{host}:{port}{target}" if port else f"{pool.scheme}://{host}{target}"


def run(
    call: Call | None, urlopen: typing.Any, method: str, url: str, args: typing.Any, kwargs: typing.Any
) -> typing.Any:
    """Call the outermost *urlopen*. The call ends here, or with the reader of the response."""
    if call is None:
        return urlopen(method, url, *args, **kwargs)
    outer = current.get()
    response = None
    # A signal or a greenlet's timeout may raise between any two lines. A call that is then lost is reported by the
    # next one.
    try:
        current.set(call)
        call.start()
        response = urlopen(method, url, *args, **kwargs)
        current.set(outer)
        call.returned = True
        if call._outcome is not None or call.connection is None or not watch(response, call):
            if call.bytes_received is None and call.response_end and hasattr(response, "tell"):
                call.bytes_received = response.tell()
            call.finish()
        return response
    except BaseException as error:
        current.set(outer)
        if type(call) is Call:
            call.fail(error)
        raise
    finally:
        # The response keeps the errors of its retries, and their tracebacks keep this frame: with the response in it,
        # that is a cycle, and the connection would stay open until the collector runs.
        del response


class TimedPool(_Behind):
    """Stands in front of a pool's class."""

    #: Options of an own pool; None: those of install().
    _onewrite_given: Options | None = None
    _onewrite_hooks: Hooks | None = None

    def _new_conn(self) -> typing.Any:
        conn = super()._new_conn()
        adopt(conn, self._onewrite_given)
        return conn

    def urlopen(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Send a request: see urllib3."""
        hooks = hooks_of(self)
        if hooks is None:
            return super().urlopen(method, url, *args, **kwargs)
        call = current.get()
        retries = kwargs["retries"] if "retries" in kwargs else args[2] if len(args) > 2 else None
        if (
            call is not None
            and call.pool is None
            and call.owner is not None
            and kwargs.get("assert_same_host") is False
        ):
            call.pool = self  # the manager's request, or one hop of it
            if retries is not None and not call._earlier:
                call.seen = max(call.seen, history(retries))
            return super().urlopen(method, url, *args, **kwargs)
        if call is not None and call.pool is self and repeated(call, retries):
            return super().urlopen(method, url, *args, **kwargs)
        call = begin(hooks, method, url_of(self, url) if url[:1] == "/" else url, None)
        if call is not None:
            call.pool = self
            call.seen = history(retries)
        return run(call, super().urlopen, method, url, args, kwargs)

    def _get_conn(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        call = current.get()
        if call is None or call.pool is not self:
            conn: typing.Any = super()._get_conn(*args, **kwargs)
            if isinstance(conn, OneWrite) and conn._onewrite_call is not None:
                conn._onewrite_call = None
            return conn
        waiting = self.block and self.pool is not None and self.pool.empty()
        call.phase = "queue"
        if waiting:
            call.step_start("queue")
        try:
            conn = super()._get_conn(*args, **kwargs)
        except BaseException as error:
            call.broke(error)
            call.step_end("queue", error)
            raise
        if waiting:
            call.step_end("queue")
        call.phase = None
        if isinstance(conn, OneWrite):
            conn._onewrite_call = call
            if conn.sock is not None:  # else it still has to connect
                conn._onewrite_acquire(call, True)
        return conn

    def _put_conn(self, conn: typing.Any) -> None:
        call: Call | None = None
        try:  # from the first line on: a signal must not keep the connection from its pool
            if conn is None:
                # urllib3 has closed the connection after an error. It may wait before it repeats the request.
                failed = current.get()
                if failed is not None and failed.pool is self and failed.error is not None:
                    failed.end_attempt()
            elif isinstance(conn, OneWrite):
                held, conn._onewrite_call = conn._onewrite_call, None
                call = held if type(held) is Call else None  # one that has ended is a Timing
                if call is not None and call.freed is None:
                    # Read before the connection is given away: another thread may have it a moment later.
                    t_ns = now()
                    connection, response = call.connection, call.response
                    if connection is not None:
                        connection.idle_since = t_ns
                    done = response is not None and response.isclosed() and not response.length
                    call.freed = done and call.error is None and conn.sock is not None, t_ns
                    if done and not call.response_end and not call.reading and call.error is None:
                        call.body_read(t_ns, call.expected)
        finally:
            super()._put_conn(conn)
        if call is not None and not call.reading:
            if call.freed and call.freed[0] and conn.sock is None:  # the pool closes it where it is full, or closed
                call.freed = False, call.freed[1]
            call.end_attempt()


class HTTPConnectionPool(TimedPool, _HTTPConnectionPool):
    """urllib3's HTTPConnectionPool whose requests leave in one write, with TCP_NODELAY on.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    if typing.TYPE_CHECKING:

        def __init__(self, host: str, port: int | None = None, **keywords: Unpack[PoolKeywords]) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            require()
            self._onewrite_given, self._onewrite_hooks = take(kwargs)
            super().__init__(*args, **kwargs)


class HTTPSConnectionPool(TimedPool, _HTTPSConnectionPool):
    """urllib3's HTTPSConnectionPool whose requests leave in one write, with TCP_NODELAY on.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    if typing.TYPE_CHECKING:

        def __init__(self, host: str, port: int | None = None, **keywords: Unpack[PoolKeywords]) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            require()
            self._onewrite_given, self._onewrite_hooks = take(kwargs)
            super().__init__(*args, **kwargs)
