"""In front of urllib3's pools: a pool's connections send in one write, and its requests are timed.

The outermost ``urlopen`` of a thread is a call. urllib3 calls it again for each retry and redirect, with a ``Retry``
whose history has grown: that is another attempt of the call. Any other request that is made meanwhile (by an exporter,
a log handler, a hook, a body, a retry policy) is a call of its own.
"""

from __future__ import annotations

import typing
from urllib.parse import urljoin

import urllib3.connectionpool

from .._base_version import genuine, require
from .._config import Options
from .._front import Front, asleep
from .._settings import installations, take
from .._timing import hooks as hooks_module
from .._timing.connection import Connection
from .._timing.hooks import Hooks
from .._timing.record import Call, begin, current
from .connection import OneWrite, adopt
from .response import watch

if typing.TYPE_CHECKING:
    from urllib3.connectionpool import HTTPConnectionPool as _HTTPConnectionPool
    from urllib3.connectionpool import HTTPSConnectionPool as _HTTPSConnectionPool

    _Behind = _HTTPConnectionPool
else:
    _Behind = Front
    _HTTPConnectionPool = genuine(urllib3.connectionpool, "HTTPConnectionPool")
    _HTTPSConnectionPool = genuine(urllib3.connectionpool, "HTTPSConnectionPool")


def hooks_of(owner: typing.Any) -> Hooks | None:
    """Return the hooks of a pool or manager and those of install(), which add."""
    return hooks_module.both(owner._onewrite_hooks, installations.hooks)


def repeated(call: Call, retries: typing.Any, url: str) -> bool:
    """Return whether an urlopen() of *url* with *retries* repeats the request of *call*; if so, begin the attempt."""
    if call.returned or call.ended_at_mono_ns or call.running is not None:
        return False
    history: typing.Any = getattr(retries, "history", ())
    if len(history) <= len(getattr(call.retries, "history", ())):
        return False
    last = history[-1]
    ahead = last.redirect_location or last.url
    if url != ahead and url != urljoin(last.url or "", ahead):  # a pool does not join them, and a location may be bad
        return False  # of a retry policy, which may give its own retries
    call.retries = retries
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
    hooks: Hooks, owner: typing.Any, pool: typing.Any, urlopen: typing.Any, method: str, url: str, args: typing.Any,
    kwargs: typing.Any,
) -> typing.Any:  # fmt: skip
    """Call *urlopen* of the manager *owner* or of *pool*, and time it.

    It repeats a request that is under way, or begins a call. The call ends here, or with the reader of the response.
    """
    outer = current.get()
    retries = kwargs["retries"] if "retries" in kwargs else args[2] if owner is None and len(args) > 2 else None
    same = outer is not None and (outer.owner is owner if pool is None else outer.pool is pool)
    if outer is not None and same and repeated(outer, retries, url):
        outer.pool = pool  # None: the next pool's urlopen() is this hop
        return urlopen(method, url, *args, **kwargs)
    whole = url_of(pool, url) if pool is not None and url[:1] == "/" else url
    if outer is None and not hooks_module.pending:
        call = Call(hooks, method, whole, owner)
    else:
        call = begin(hooks, method, whole, owner)
    call.pool = pool
    call.retries = retries
    response = None
    # A signal or a greenlet's timeout may raise between any two lines. So current is put back at two places.
    try:
        try:
            current.set(call)
            if call.listener is not None:
                call.start()
            response = urlopen(method, url, *args, **kwargs)
            call.returned = True
            if call._outcome is not None or call.connection is None or not watch(response, call):
                if call.bytes_received is None and call.response_end and hasattr(response, "tell"):
                    call.bytes_received = response.tell()
                call.end(call.error)
            return response
        except BaseException as error:
            if type(call) is Call:
                call.fail(error)
            raise
        finally:
            current.set(outer)
    except BaseException as error:
        current.set(outer)
        if type(call) is Call:
            call.fail(error)
        raise
    finally:
        # The response keeps the errors of its retries, and their tracebacks keep this frame: with the response in it,
        # that is a cycle, and the connection would stay open until the collector runs.
        del response


@asleep("_put_conn", "_get_conn", "urlopen")
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
        call = current.get()
        if (
            call is not None
            and call.pool is None
            and call.owner is not None
            and kwargs.get("retries") is call.retries
            and kwargs.get("assert_same_host") is False
        ):
            call.pool = self  # the manager's request, or one hop of it
            return super().urlopen(method, url, *args, **kwargs)
        hooks = installations.hooks if self._onewrite_hooks is None else hooks_of(self)
        if hooks is None:
            return super().urlopen(method, url, *args, **kwargs)
        return run(hooks, None, self, super().urlopen, method, url, args, kwargs)

    def _get_conn(self, timeout: float | None = None) -> typing.Any:
        call = current.get()
        if call is None or call.pool is not self:
            conn: typing.Any = super()._get_conn(timeout)
            if getattr(conn, "_onewrite_call", None) is not None:
                conn._onewrite_call = None  # a signal kept it there
            return conn
        waiting = self.block and self.pool is not None and self.pool.empty()
        if waiting:
            call.step_start("queue")
        try:
            conn = super()._get_conn(timeout)
        except BaseException as error:
            call.phase = "queue"
            call.broke(error)
            call.step_end("queue", error)
            raise
        if waiting:
            call.step_end("queue")
        if isinstance(conn, OneWrite):
            conn._onewrite_call = call
            sock = conn.sock
            if sock is not None:  # else it still has to connect
                connection = conn._onewrite_connection
                if connection is None or connection.sock is not sock:
                    connection = conn._onewrite_connection = Connection(sock)
                call.acquired(connection, True)
        return conn

    def _put_conn(self, conn: typing.Any) -> None:
        call: typing.Any = None
        try:  # from the first line on: a signal must not keep the connection from its pool
            call = getattr(conn, "_onewrite_call", None)
            if call is not None:
                conn._onewrite_call = None
                if type(call) is Call:
                    call.given_back(conn.sock)
                else:  # it has ended
                    call = None
            elif conn is None:
                # urllib3 has closed the connection after an error. It may wait before it repeats the request.
                failed = current.get()
                if failed is not None and failed.pool is self and failed.error is not None:
                    failed.end_attempt()
        finally:
            super()._put_conn(conn)
        if call is not None and not call.reading:
            if conn.sock is None:  # the pool closes it where it is full, or closed
                call.reusable = False
            call.end_attempt()


class Own:
    """Base of own pools and managers: takes what is onewrite's out of their arguments."""

    _onewrite_given: Options | None
    _onewrite_hooks: Hooks | None

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        require()
        self._onewrite_given, self._onewrite_hooks = take(kwargs)
        super().__init__(*args, **kwargs)


class HTTPConnectionPool(Own, TimedPool, _HTTPConnectionPool):
    """urllib3's HTTPConnectionPool whose requests leave in one write, with TCP_NODELAY on.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """


class HTTPSConnectionPool(Own, TimedPool, _HTTPSConnectionPool):
    """The same over TLS."""
