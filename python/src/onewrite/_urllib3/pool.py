"""urllib3's pools: the seam, timing, and the own classes.

The seam stands in for one method, ``_make_request``, and within it for sending a request and reading its
answer. ``urlopen`` stays urllib3's in every case: retries, redirects, proxies, the wrapping of errors and what
becomes of a bad connection. What is unusual goes to urllib3's own ``_make_request`` before a byte is sent; an
answer that turns out unusual is read on by http.client, after the bytes already read.
"""

from __future__ import annotations

import http.client
import inspect
import logging
import socket
import ssl
import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Timeout

from .. import _base_version, _config
from .._config import DEFAULTS, Options
from .._timing import attempt as moments
from .._timing import call as calls
from .._timing.hooks import Hooks, make_hooks
from . import connection as connections
from . import head as heads
from . import originals, response
from .connection import HTTPConnection, HTTPSConnection
from .state import State, acquire, attempt_of

Original = typing.Callable[..., typing.Any]

_log = logging.getLogger("urllib3.connectionpool")
_HTTPConnectionPool = originals.genuine(urllib3.connectionpool, "HTTPConnectionPool")
_HTTPSConnectionPool = originals.genuine(urllib3.connectionpool, "HTTPSConnectionPool")
_Connection = originals.genuine(urllib3.connection, "HTTPConnection")
_HTTPSConnection = originals.genuine(urllib3.connection, "HTTPSConnection")
_HTTP = originals.genuine(http.client, "HTTPConnection")

# -- the seam -----------------------------------------------------------------------------------------

#: Socket classes whose ``recv`` and ``makefile`` read the same bytes.
_SOCKETS = frozenset((socket.socket, ssl.SSLSocket))


def _known() -> str | None:
    """Why this urllib3 is left to its own ``_make_request``, or None."""
    if _base_version.IS_V1:
        return "urllib3 1.26 makes its responses in another way"
    parameters = tuple(inspect.signature(_MAKE_REQUEST).parameters)
    if parameters != (
        "self", "conn", "method", "url", "body", "headers", "retries", "timeout", "chunked", "response_conn",
        "preload_content", "decode_content", "enforce_content_length",
    ) or not response.SUPPORTED:  # fmt: skip
        return f"urllib3 {_base_version.version()} takes or makes requests in a way that onewrite does not know"
    probe = http.client.HTTPConnection("localhost") if _HTTP is http.client.HTTPConnection else None
    names = {"_HTTPConnection__state", "_HTTPConnection__response", "_method"}
    if probe is not None and (not names <= vars(probe).keys() or vars(probe)["_HTTPConnection__state"] != "Idle"):
        return "http.client keeps its state in a way that onewrite does not know"
    return None


_MAKE_REQUEST = _HTTPConnectionPool.__dict__["_make_request"]

#: Why the seam is off in this process, or None.
OFF = _known()


def make_request(
    pool: typing.Any,
    original: Original,
    conn: typing.Any,
    method: str,
    url: str,
    body: typing.Any = None,
    headers: typing.Any = None,
    retries: typing.Any = None,
    timeout: typing.Any = Timeout.DEFAULT_TIMEOUT,
    chunked: bool = False,
    response_conn: typing.Any = None,
    preload_content: bool = True,
    decode_content: bool = True,
    enforce_content_length: bool = True,
) -> typing.Any:
    """Send a request and read its answer: see urllib3's HTTPConnectionPool._make_request.

    The one method between urllib3's pools and their connections: above it nothing needs to change.
    """
    pieces = None
    if not chunked and _ready(pool, original, conn):
        pieces = heads.written(conn, method, url, body, headers)
    if pieces is None:
        return original(
            conn,
            method,
            url,
            body=body,
            headers=headers,
            retries=retries,
            timeout=timeout,
            chunked=chunked,
            response_conn=response_conn,
            preload_content=preload_content,
            decode_content=decode_content,
            enforce_content_length=enforce_content_length,
        )
    pool.num_requests += 1
    if type(timeout) is not Timeout or timeout.total not in (None, Timeout.DEFAULT_TIMEOUT):
        timeout = pool._get_timeout(timeout)
        timeout.start_connect()
    sock = conn.sock
    conn.timeout = Timeout.resolve_default_timeout(timeout.connect_timeout)
    sock.settimeout(conn.timeout)
    connections.send_whole(conn, *pieces)
    read_timeout = timeout.read_timeout
    if read_timeout == 0:
        raise ReadTimeoutError(pool, url, f"Read timed out. (read timeout={read_timeout})")
    conn.timeout = read_timeout
    sock.settimeout(read_timeout)
    try:
        answer = response.read(conn, method, url, preload_content, decode_content, enforce_content_length)
    except OSError as error:  # ssl.SSLError is one
        pool._raise_timeout(err=error, url=url, timeout_value=read_timeout)
        raise
    answer.retries = retries
    answer._connection = response_conn
    answer._pool = pool
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug(
            '%s://%s:%s "%s %s %s" %s %s',
            pool.scheme,
            pool.host,
            pool.port,
            method,
            url,
            getattr(answer, "version_string", conn._http_vsn_str),
            answer.status,
            answer.length_remaining,
        )
    return answer


def _ready(pool: typing.Any, original: Original, conn: typing.Any) -> bool:
    """Whether *conn* is connected and idle, and none of the methods that the seam bypasses was replaced."""
    watched: typing.Any = State if pool._onewrite_own else _Connection
    if OFF is not None or not issubclass(type(conn), watched):  # isinstance() believes a mock's __class__
        return False
    sock = conn.sock
    kind = type(sock)
    if kind not in _SOCKETS or conn.proxy is not None or conn.debuglevel > 0:
        return False
    options = conn._onewrite_options
    previous = conn._HTTPConnection__response
    if (
        options.disabled
        or options.coalesce_disabled
        or options.fast_disabled
        or conn._HTTPConnection__state != "Idle"
        or (previous is not None and not previous.isclosed())
        or not (kind is socket.socket or conn.is_verified)  # else urllib3 warns
        or not originals.untouched(original, pool, conn)
    ):
        return False
    if sock is not conn._onewrite_sock:
        connections.own_socket(conn)
    if conn._onewrite_attempt is not None:
        attempt_of(conn)
    return True


# -- timing -------------------------------------------------------------------------------------------


def url_of(pool: typing.Any, target: str) -> str:
    """The URL that a pool is asked for: an IPv6 address stands in brackets (RFC 3986, 3.2.2; zone: RFC 6874)."""
    host: str = pool.host
    if ":" in host and host[:1] != "[":
        address, percent, zone = host.partition("%")
        host = f"[{address}%25{zone.removeprefix('25')}]" if percent else f"[{host}]"
    port = f":{pool.port}" if pool.port else ""
    return f"{pool.scheme}://{host}{port}{target}"


def urlopen(
    owner: typing.Any,
    original: Original,
    hooks: Hooks,
    installed: bool,
    method: str,
    url: str,
    *args: typing.Any,
    **kwargs: typing.Any,
) -> typing.Any:
    """Run the outermost request, of a manager or a pool, as a call; each of a pool is an attempt of it.

    urllib3 calls it again for each retry and redirect; requests and elastic-transport begin with the pool's.
    """
    pooled = isinstance(owner, _HTTPConnectionPool)
    under_way = calls.under_way()
    if under_way is not None:
        if pooled:
            calls.begin_attempt(under_way)
        return original(method, url, *args, **kwargs)
    timing = calls.begin(hooks, method, url_of(owner, url) if pooled and url[:1] == "/" else url, installed)
    outer = moments.current.get()
    # A signal or a greenlet's timeout may raise between any two lines: the variable is reset then, too.
    try:
        moments.current.set(timing)
        if pooled:
            calls.begin_attempt(timing)
        answer = original(method, url, *args, **kwargs)
        moments.current.set(outer)
    except BaseException as error:
        moments.current.set(outer)
        calls.failed(timing, error)
        raise
    if _base_version.IS_V1:
        response.returned(timing, answer)
    calls.returned(timing)
    try:
        return answer
    finally:
        # The response keeps the errors of its retries, their tracebacks keep this frame: with the response in it,
        # that is a cycle, and the connection would stay open until the collector runs.
        del answer


def get_conn(pool: typing.Any, original: Original, timeout: typing.Any = None) -> typing.Any:
    """Pin the attempt to the connection. No public method knows which connection a request gets."""
    timing = moments.current.get()
    attempt = None if timing is None else timing._last()
    if attempt is None or attempt._end or attempt._link is not None or attempt._phase != "queue":
        return original(timeout=timeout)
    waiting = bool(pool.block and pool.pool is not None and pool.pool.qsize() == 0)
    if waiting:
        moments.queue_start(attempt)
    try:
        conn = original(timeout=timeout)
    finally:
        if waiting:
            moments.queue_end(attempt)
    if hasattr(conn, "_onewrite_link"):  # else a class that is not onewrite's
        conn._onewrite_attempt = attempt
        attempt._phase = "connect"
        if conn.sock is not None:  # else it still has to connect
            acquire(conn, attempt, True)
    return conn


def put_conn(pool: typing.Any, original: Original, conn: typing.Any) -> None:
    """The response was read to its end or released: the attempt is over."""
    attempt = getattr(conn, "_onewrite_attempt", None)
    if attempt is None:
        original(conn)
        return
    conn._onewrite_attempt = None
    # Read before the connection is given away: another thread may have it a moment later.
    http_response = attempt._http
    t_ns = moments.now()
    if (
        not attempt._response_end
        and http_response is not None
        and http_response.isclosed()
        and attempt._error is None
    ):
        response.body_read(attempt, t_ns)
    reusable = bool(attempt._response_end) and conn.sock is not None
    if attempt._link is not None:
        attempt._link.idle_since = t_ns
    original(conn)
    if conn.sock is None:
        reusable = False  # the pool was full, or closed
    calls.end_attempt(attempt, "ok" if attempt._error is None else "error", reusable, t_ns)


# -- own classes --------------------------------------------------------------------------------------


def split(keywords: dict[str, typing.Any]) -> tuple[Options, Hooks | None]:
    """Take onewrite's options and hooks out of *keywords*."""
    on_timing, listener = keywords.pop("on_timing", None), keywords.pop("listener", None)
    options = _config.resolve({name: keywords.pop(name) for name in _config.NAMES & keywords.keys()})
    return options, make_hooks(on_timing, listener, options.hooks_disabled)


class ConnectionClass:
    """``ConnectionCls`` of an own pool: onewrite's class, or what replaced urllib3's, as vcrpy does."""

    def __init__(self, ours: typing.Any, pool: typing.Any, theirs: typing.Any) -> None:
        self._ours = ours
        self._pool = pool
        self._theirs = theirs

    def __get__(self, pool: typing.Any, owner: typing.Any = None) -> typing.Any:
        now = self._pool.ConnectionCls
        return self._ours if now is self._theirs else now


class Own:
    """What own pools and managers share, in front of urllib3's."""

    _onewrite_own = True
    _onewrite_options: Options = DEFAULTS
    _onewrite_hooks: Hooks | None = None

    def urlopen(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Send a request: see urllib3's own ``urlopen`` of this class."""
        original, hooks = super().urlopen, self._onewrite_hooks  # type: ignore[misc]
        if hooks is None:
            return original(method, url, *args, **kwargs)
        return urlopen(self, original, hooks, False, method, url, *args, **kwargs)


class Pool(Own):
    """Behaviour of both pool classes, in front of urllib3's."""

    def __init__(self, host: str, port: int | None = None, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_options, self._onewrite_hooks = split(kwargs)
        super().__init__(host, port, *args, **kwargs)  # type: ignore[call-arg]

    def _new_conn(self) -> typing.Any:
        conn = super()._new_conn()  # type: ignore[misc]
        if isinstance(conn, State):
            connections.configure(conn, self._onewrite_options)
        return conn

    def _get_conn(self, timeout: typing.Any = None) -> typing.Any:
        original = super()._get_conn  # type: ignore[misc]
        if self._onewrite_hooks is None:
            return original(timeout=timeout)
        return get_conn(self, original, timeout)

    def _make_request(
        self, conn: typing.Any, method: str, url: str, *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Any:
        original = super()._make_request  # type: ignore[misc]
        if _base_version.IS_V1:
            return original(conn, method, url, *args, **kwargs)
        return make_request(self, original, conn, method, url, *args, **kwargs)

    def _put_conn(self, conn: typing.Any) -> None:
        original = super()._put_conn  # type: ignore[misc]
        if self._onewrite_hooks is None:
            original(conn)
        else:
            put_conn(self, original, conn)


class HTTPConnectionPool(Pool, _HTTPConnectionPool):  # type: ignore[misc,valid-type]
    """urllib3's HTTPConnectionPool over :class:`onewrite.HTTPConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = ConnectionClass(HTTPConnection, _HTTPConnectionPool, _Connection)


class HTTPSConnectionPool(Pool, _HTTPSConnectionPool):  # type: ignore[misc,valid-type]
    """urllib3's HTTPSConnectionPool over :class:`onewrite.HTTPSConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = ConnectionClass(HTTPSConnection, _HTTPSConnectionPool, _HTTPSConnection)
