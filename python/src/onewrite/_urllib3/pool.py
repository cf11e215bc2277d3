"""urllib3's pools: timing, and the own classes."""

from __future__ import annotations

import operator
import typing
import weakref

import urllib3
import urllib3.connection
import urllib3.connectionpool

from .. import _base_version, _patches
from .._config import DEFAULTS, Options
from .._installations import take
from .._timing import call as calls
from .._timing.attempt import LiveAttempt, now
from .._timing.hooks import Hooks
from . import response
from .connection import HTTPConnection, HTTPSConnection, OneWrite, configure
from .state import acquire

Bound = typing.Callable[..., typing.Any]

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack
    from urllib3.connectionpool import HTTPConnectionPool as _HTTPConnectionPool
    from urllib3.connectionpool import HTTPSConnectionPool as _HTTPSConnectionPool

    from .._keywords import PoolKeywords
else:
    _HTTPConnectionPool = _patches.genuine(urllib3.connectionpool, "HTTPConnectionPool")
    _HTTPSConnectionPool = _patches.genuine(urllib3.connectionpool, "HTTPSConnectionPool")
_Connection = _patches.genuine(urllib3.connection, "HTTPConnection")
_HTTPSConnection = _patches.genuine(urllib3.connection, "HTTPSConnection")

# -- timing -------------------------------------------------------------------------------------------


def url_of(pool: typing.Any, target: str) -> str:
    """The URL that a pool is asked for: an IPv6 address stands in brackets (RFC 3986, 3.2.2; zone: RFC 6874)."""
    host: str = pool.host
    if ":" in host and host[:1] != "[":
        address, percent, zone = host.partition("%")
        host = f"[{address}%25{zone.removeprefix('25')}]" if percent else f"[{host}]"
    port = f":{pool.port}" if pool.port else ""
    return f"{pool.scheme}://{host}{port}{target}"


def make_urlopen(hooks_of: typing.Callable[[typing.Any], Hooks | None]) -> _patches.Make:
    """Return what makes ``urlopen``: the outermost one is a call, each one of a pool an attempt of it.

    urllib3 calls it again for each retry and redirect; requests and elastic-transport begin with the pool's.
    *hooks_of* returns the hooks of a manager or a pool.
    """

    def make(below: _patches.Below, own: bool) -> Bound:
        def urlopen(self: typing.Any, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            bound = below(self, type(self))
            hooks = hooks_of(self)
            if hooks is None:
                return bound(method, url, *args, **kwargs)
            pooled = isinstance(self, _HTTPConnectionPool)
            under_way = calls.under_way()
            if under_way is not None:
                if pooled:
                    under_way.begin_attempt()
                return bound(method, url, *args, **kwargs)
            # A signal or a greenlet's timeout may raise between any two lines. After one in the handler below, the
            # call's __del__ ends it.
            outer = calls.current.get()
            call = calls.LiveCall(hooks, method, url_of(self, url) if pooled and url[:1] == "/" else url)
            try:
                calls.current.set(weakref.ref(call))
                call.start()
                if pooled:
                    call.begin_attempt()
                answer = bound(method, url, *args, **kwargs)
                calls.current.set(outer)
                if _base_version.IS_V1:
                    response.returned(call, answer)
                call.answered()
            except BaseException as error:
                calls.current.set(outer)
                call.failed(error)
                raise
            try:
                return answer
            finally:
                # The response keeps the errors of its retries, their tracebacks keep this frame: with the response in
                # it, that is a cycle, and the connection would stay open until the collector runs.
                del answer

        return urlopen

    return make


def make_get_conn(below: _patches.Below, own: bool) -> Bound:
    """Return ``_get_conn``, which ties attempt and connection. No public method gets the connection of a request."""

    def get_conn(self: typing.Any, timeout: typing.Any = None) -> typing.Any:
        bound = below(self, type(self))
        call = calls.of_thread()
        attempt = None if call is None or call.delivering else call.last
        if attempt is None or attempt.ended or attempt.connection is not None or attempt.phase != "queue":
            return bound(timeout=timeout)
        waiting = bool(self.block and self.pool is not None and self.pool.qsize() == 0)
        if waiting:
            attempt.step_start("queue")
        conn = None
        try:
            try:
                conn = bound(timeout=timeout)
            finally:
                if waiting:
                    attempt.step_end("queue")
            if hasattr(conn, "_onewrite_connection"):  # else a class that is not onewrite's
                conn._onewrite_attempt = attempt
                attempt.phase = "connect"
                if conn.sock is not None:  # else it still has to connect
                    acquire(conn, attempt, True)
            return conn
        except BaseException:
            if conn is not None:
                conn.close()  # urllib3 fills its place in the pool with None
            raise

    return get_conn


def make_put_conn(below: _patches.Below, own: bool) -> Bound:
    """Return ``_put_conn``: the response was read to its end or released, the attempt is over."""

    def put_conn(self: typing.Any, conn: OneWrite | None) -> None:
        try:  # from the first line on: a signal must not keep the connection from its pool
            attempt: LiveAttempt | None = getattr(conn, "_onewrite_attempt", None)
            if conn is not None and attempt is not None:
                t_ns = now()
                conn._onewrite_attempt = None
                # Read before the connection is given away: another thread may have it a moment later.
                http_response = attempt.http_response
                is_read = "response_end" in attempt.at
                if not is_read and attempt.error is None and http_response is not None and http_response.isclosed():
                    response.body_read(attempt, t_ns)
                    is_read = True
                reusable = is_read and conn.sock is not None
                if attempt.connection is not None:
                    attempt.connection.idle_since = t_ns
        finally:
            below(self, type(self))(conn)
        if conn is None:
            # urllib3 has closed the connection after an error. A retry may wait before it begins.
            call = calls.of_thread()
            if call is not None and call.last is not None and call.last.error is not None:
                call.last.end("error")
        elif attempt is not None:
            # The pool closes it where it is full, or closed.
            attempt.end("ok" if attempt.error is None else "error", reusable and conn.sock is not None, t_ns)

    return put_conn


# -- own classes --------------------------------------------------------------------------------------


class ConnectionClass:
    """``ConnectionCls`` of an own pool: onewrite's class, or what replaced urllib3's, as vcrpy does."""

    def __init__(self, ours: typing.Any, pool: typing.Any, theirs: typing.Any) -> None:
        self._ours = ours
        self._pool = pool
        self._theirs = theirs

    def __get__(self, pool: typing.Any, owner: typing.Any = None) -> typing.Any:
        now = self._pool.ConnectionCls
        return self._ours if now is self._theirs else now


class WhenHooked:
    """A method of own pools and managers: the one below and nothing else where no hook is set."""

    def __init__(self, make: _patches.Make) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name
        self._method = self._make(self._below, True)

    def _below(self, instance: typing.Any, cls: type) -> typing.Any:
        return getattr(super(self._owner, instance), self._name)

    def __get__(self, instance: typing.Any, cls: typing.Any = None) -> typing.Any:
        if instance is not None and instance._onewrite_hooks is None:
            return getattr(super(self._owner, instance), self._name)
        return self._method.__get__(instance, cls)


class Hooked:
    """What own pools and managers share, in front of urllib3's."""

    _onewrite_options: Options = DEFAULTS
    _onewrite_hooks: Hooks | None = None

    if not typing.TYPE_CHECKING:  # it has the types of urllib3's
        urlopen = WhenHooked(make_urlopen(operator.attrgetter("_onewrite_hooks")))


class Pool(Hooked):
    """Behaviour of both pool classes, in front of urllib3's."""

    def __init__(self, host: str, port: int | None = None, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_options, self._onewrite_hooks = take(kwargs)
        super().__init__(host, port, *args, **kwargs)  # type: ignore[call-arg]

    def _new_conn(self) -> typing.Any:
        conn = super()._new_conn()  # type: ignore[misc]
        if isinstance(conn, OneWrite):
            configure(conn, self._onewrite_options)
        return conn

    _get_conn = WhenHooked(make_get_conn)
    # With fewer lines in which a signal would keep the connection from its pool.
    _put_conn = make_put_conn(lambda self, cls: super()._put_conn, True)  # type: ignore[misc]


class HTTPConnectionPool(Pool, _HTTPConnectionPool):
    """urllib3's HTTPConnectionPool over :class:`onewrite.HTTPConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = ConnectionClass(HTTPConnection, _HTTPConnectionPool, _Connection)

    if typing.TYPE_CHECKING:

        def __init__(self, host: str, port: int | None = None, **keywords: Unpack[PoolKeywords]) -> None: ...


class HTTPSConnectionPool(Pool, _HTTPSConnectionPool):
    """urllib3's HTTPSConnectionPool over :class:`onewrite.HTTPSConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = ConnectionClass(HTTPSConnection, _HTTPSConnectionPool, _HTTPSConnection)

    if typing.TYPE_CHECKING:

        def __init__(self, host: str, port: int | None = None, **keywords: Unpack[PoolKeywords]) -> None: ...
