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
from .._config import DEFAULTS
from .._front import Front
from .._settings import Settings, hooks_of, installations, take
from .._sockets import host_and_port
from .._timing.connection import Connection
from .._timing.record import Call, begin, current, now
from .connection import OneWrite, adopt, port_text, text
from .response import size_of, watch

if typing.TYPE_CHECKING:
    from urllib3.connectionpool import HTTPConnectionPool as _HTTPConnectionPool
    from urllib3.connectionpool import HTTPSConnectionPool as _HTTPSConnectionPool

    _Behind = _HTTPConnectionPool
else:
    _Behind = Front
    _HTTPConnectionPool = genuine(urllib3.connectionpool, "HTTPConnectionPool")
    _HTTPSConnectionPool = genuine(urllib3.connectionpool, "HTTPSConnectionPool")

_DEFAULT_PORTS = {"http": "80", "https": "443"}


def url_of(pool: typing.Any, target: str) -> str:
    """Return the URL of a *pool* and its *target*, which may be a URL.

    An IPv6 address stands in brackets (RFC 3986, 3.2.2; zone: RFC 6874). A manager gives each pool a port, so the
    default port of the scheme is left out.
    """
    if target[:1] != "/":
        return target
    host = text(pool.host)
    if ":" in host and host[:1] != "[":
        address, percent, zone = host.partition("%")
        host = f"[{address}%25{zone.removeprefix('25')}]" if percent else f"[{host}]"
    scheme, port = text(pool.scheme), port_text(pool.port)
    if port in ("", "0", _DEFAULT_PORTS.get(scheme)):
        return f"{scheme}://{host}{target}"
    return f"{scheme}://{host}:{port}{target}"


def _proxy_of(pool: typing.Any) -> str | None:
    """Return host and port of the proxy of *pool*; a SOCKS proxy is an option of its connections."""
    proxy = pool.proxy
    if proxy is not None:
        return f"{proxy.host}:{proxy.port or _DEFAULT_PORTS.get(proxy.scheme, 80)}"
    socks = pool.conn_kw.get("_socks_options")
    if socks is None:
        return None
    return host_and_port(socks["proxy_host"], socks["proxy_port"] or 1080)


def _is_repeat(call: Call, retries: typing.Any, url: str) -> bool:
    """Return whether an urlopen() of *url* with *retries* repeats the request of *call*."""
    if call.returned or call.ended_at_mono_ns or call.running is not None:
        return False
    try:
        history: typing.Any = getattr(retries, "history", ())
        if len(history) <= len(getattr(call.retries, "history", ())):
            return False
        last = history[-1]
        ahead = last.redirect_location or last.url
        # Else of a retry policy, which may give its own retries. A pool does not join them.
        return bool(url == ahead or url == urljoin(last.url or "", ahead))
    except Exception:  # a policy of a class of the user, or a bad location
        return False


def _is_attempt(outer: Call, owner: typing.Any, pool: typing.Any, args: typing.Any, kwargs: typing.Any) -> bool:
    """Return whether an urlopen() of the manager *owner* or of *pool* is part of *outer*; begin its attempt."""
    url = args[1] if len(args) > 1 else kwargs.get("url")
    retries = args[4] if len(args) > 4 else kwargs.get("retries")
    same = outer.owner is owner if pool is None else outer.pool is pool
    if same and _is_repeat(outer, retries, url):
        outer.retries = retries
        outer.next_attempt()
    elif (  # else it may be the first of a manager's request
        pool is None
        or outer.pool is not None
        or outer.owner is None
        or retries is not outer.retries
        or kwargs.get("assert_same_host") is not False
    ):
        return False
    _goes_to(outer, pool)
    return True


def _goes_to(call: Call, pool: typing.Any) -> None:
    """Let the attempt under way be one of *pool*; None: of the pool that the manager uses next."""
    call.pool = pool
    if pool is not None and (pool.proxy is not None or "_socks_options" in pool.conn_kw):
        call.proxy = _proxy_of(pool)


def timed_urlopen(
    given: Settings | None,
    owner: typing.Any,
    pool: typing.Any,
    urlopen: typing.Any,
    args: typing.Any,
    kwargs: typing.Any,
) -> typing.Any:
    """Call *urlopen* of the manager *owner* or of *pool*: part of the call under way, or a call for its hooks."""
    outer = current.get()
    if outer is not None and _is_attempt(outer, owner, pool, args, kwargs):
        return urlopen(*args, **kwargs)
    hooks = hooks_of(given, installations)
    if hooks is None:
        return urlopen(*args, **kwargs)
    method = text(args[0] if args else kwargs.get("method"))
    url = text(args[1] if len(args) > 1 else kwargs.get("url"))
    call = begin(hooks, method, url if pool is None else url_of(pool, url), owner)
    call.retries = args[4] if len(args) > 4 else kwargs.get("retries")
    if pool is not None:
        _goes_to(call, pool)
    current.set(call)
    response = None
    try:
        if call.listener is not None:
            call.start()
        response = urlopen(*args, **kwargs)
        _returned(call, response)
        return response
    except BaseException as error:
        if type(call) is Call:
            call.end(error)
        raise
    finally:
        current.set(outer)
        # The response keeps the errors of its retries, and their tracebacks keep this frame: with the response in it,
        # that is a cycle, and the connection would stay open until the collector runs.
        response = None


def _returned(call: Call, response: typing.Any) -> None:
    """The caller gets *response*. The call ends here, or with the reader of the response."""
    call.returned = True
    if call._outcome is None and call.connection is not None and watch(response, call):
        return
    try:
        status = response.status  # of a mock or a recorder, of a retry that shows no history
    except Exception:  # a class of the user
        status = None
    if type(status) is int:
        call.status = status
    if call.bytes_received is None and call.response_end:
        call.bytes_received = size_of(response)
    call.end()


class Pool(_Behind):
    """Stands in front of a pool's class."""

    #: What an own pool was given; None: what install() says.
    _onewrite_given: Settings | None = None

    def _new_conn(self) -> typing.Any:
        conn = super()._new_conn()
        given = self._onewrite_given
        if given is not None and not given.options.disabled:
            adopt(conn, given.options)
        return conn

    if not typing.TYPE_CHECKING:  # it has urllib3's type

        def urlopen(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            """Send a request: see urllib3."""
            given = self._onewrite_given
            if installations.hooks is None and (given is None or given.hooks is None) and current.get() is None:
                return super().urlopen(*args, **kwargs)
            return timed_urlopen(given, None, self, super().urlopen, args, kwargs)

    def _get_conn(self, timeout: float | None = None) -> typing.Any:
        call = current.get()
        if call is None or call.pool is not self:
            return super()._get_conn(timeout)
        queue = self.pool  # None where another thread has closed the pool
        waiting = self.block and queue is not None and queue.empty()
        if waiting:
            call.step_start("queue")
        try:
            conn: typing.Any = super()._get_conn(timeout)
        except BaseException as error:
            call.phase = "queue"
            call.broke(error)
            call.step_end("queue", error)
            raise
        try:
            if waiting:
                call.step_end("queue")
            if isinstance(conn, OneWrite):
                link = conn._onewrite or conn._onewrite_link()
                link.watch = call
                sock = conn.sock
                if sock is not None:  # else it still has to connect
                    connection = link.connection
                    if connection is None or connection.sock is not sock:
                        connection = link.connection = Connection(sock)
                    call.acquired(connection, True)
        except BaseException:  # a hook stops the thread: urlopen() gives None back in the place of the connection
            conn.close()
            raise
        return conn

    def _put_conn(self, conn: typing.Any) -> None:
        call: Call | None = None
        try:
            if conn is not None:
                link = conn._onewrite if isinstance(conn, OneWrite) else None
                if link is not None:
                    call, link.watch = link.watch, None
                    if call is not None and not call.freed_ns:
                        call.freed_ns = t_ns = call.response_end or now()
                        connection, response = call.connection, call.response
                        if connection is not None:
                            connection.idle_since = t_ns
                        if call.error is None and response is not None and response.fp is None and not response.length:
                            call.reusable = conn.sock is not None
                            if type(call) is Call and not call.returned and not call.response_end:
                                call.body_read(t_ns, None)
            else:
                # urllib3 has closed the connection after an error. It may wait before it repeats the request.
                failed = current.get()
                if failed is not None and failed.pool is self and failed.error is not None:
                    failed.end_attempt()
        finally:
            super()._put_conn(conn)
        if call is not None:
            if conn.sock is None:  # the pool closes it where it is full, or closed
                call.reusable = False
            if type(call) is Call and not call.returned:  # else its reader ends it, on whatever thread
                call.end_attempt()


class Own:
    """Base of own pools and managers: takes what is onewrite's out of their arguments."""

    #: A copy has that of its class.
    _onewrite_given: Settings | None = Settings(DEFAULTS, None)

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        if not DEFAULTS.disabled:
            require()
        self._onewrite_given = take(kwargs)
        super().__init__(*args, **kwargs)


class HTTPConnectionPool(Own, Pool, _HTTPConnectionPool):
    """urllib3's HTTPConnectionPool whose requests leave in one write, with TCP_NODELAY on.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """


class HTTPSConnectionPool(Own, Pool, _HTTPSConnectionPool):
    """The same over TLS."""
