"""install() and uninstall(): the same behaviour for every user of urllib3 in this process.

The methods are replaced on ``urllib3.connection.HTTPConnection`` itself, not on the pool's
``ConnectionCls``, because botocore, docker, vcrpy, urllib3's SOCKS support and users' own code bind
the class when they are imported. A subclass that overrides one of these methods without calling its
parent keeps its own way of writing. HTTP/2 connections (``urllib3.http2``) override ``request`` and
``send`` and are left alone.
"""

from __future__ import annotations

import functools
import http.client
import sys
import threading
import time
import types
import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool

from . import _base, _calls, _dial, _exchange, _fast, _moments, _options, _reading, _record
from ._events import TimingListener
from ._hooks import Hooks, make_hooks
from ._timing import Plain, Timing

_lock = threading.RLock()
#: Class, name, what the class itself had under it, and what is there in its place.
_replaced: list[tuple[type, str, typing.Any, typing.Any]] = []
_hooks: Hooks | None = None
_current = _record.current
#: A recorder may put another one in its place.
_Connection = urllib3.connection.HTTPConnection
_now = _record.now
_GETRESPONSE: typing.Any = http.client.HTTPConnection.getresponse


def _connection_init(original: typing.Any) -> typing.Any:
    # Every way to a connection ends here: pools, proxies, SOCKS, subclasses.
    @functools.wraps(original)
    def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if not self._onewrite_own:
            _exchange.configure(self, self._onewrite_options)

    return __init__


def _connection_request(original: typing.Any) -> typing.Any:
    # The only method that knows where a request begins and ends.
    @functools.wraps(original)
    def request(
        self: typing.Any,
        method: str,
        url: str,
        body: typing.Any = None,
        headers: typing.Any = None,
        **extra: typing.Any,
    ) -> None:
        if self._onewrite_own:
            original(self, method, url, body=body, headers=headers, **extra)
        else:
            _exchange.request(self, types.MethodType(original, self), method, url, body, headers, **extra)

    return request


def _connection_request_chunked(original: typing.Any) -> typing.Any:
    # 1.26 writes chunked bodies in a loop of its own; in 2.x this is request() once more.
    @functools.wraps(original)
    def request_chunked(
        self: typing.Any, method: str, url: str, body: typing.Any = None, headers: typing.Any = None
    ) -> None:
        if self._onewrite_own:
            original(self, method, url, body=body, headers=headers)
        else:
            bound = types.MethodType(original, self)
            _exchange.request(self, bound, method, url, body, headers, chunking=True)

    return request_chunked


def _connection_send(original: typing.Any) -> typing.Any:
    # All bytes of a request pass here, also those of subclasses that override _send_output (botocore).
    @functools.wraps(original)
    def send(self: typing.Any, data: typing.Any) -> None:
        if self._onewrite_own:
            original(self, data)
            return
        hold = self._onewrite_hold
        if hold is None or hold.limit is not None or type(data) is not bytes or self.sock is None or self.debuglevel:
            _exchange.send(self, types.MethodType(original, self), data)
            return
        # What nearly every piece of a request comes to; the rest of the rules are in _exchange.send.
        sys.audit("http.client.send", self, data)
        hold.pieces.append(data)
        hold.size += len(data)

    return send


def _connection_connect(original: typing.Any) -> typing.Any:
    # HTTPSConnection.connect does not call HTTPConnection.connect: both are replaced.
    @functools.wraps(original)
    def connect(self: typing.Any) -> None:
        if self._onewrite_own:
            original(self)
        else:
            _dial.connect(self, types.MethodType(original, self))

    return connect


def _connection_getresponse(original: typing.Any) -> typing.Any:
    # http.client makes the response object in here and reads its head at once.
    @functools.wraps(original)
    def getresponse(self: typing.Any, **extra: typing.Any) -> typing.Any:
        call, quickack = self._onewrite_attempt, self._onewrite_options.quickack
        if self._onewrite_own or (call is None and not quickack):
            return original(self, **extra)
        if extra and original is _GETRESPONSE:
            return original(self, **extra)  # urllib3 1.26 first asks as in Python 2, and is refused
        if (
            type(call) is Plain
            and call._sent
            and not extra
            and not quickack
            and type(self).response_class is _reading.response_class
            and "response_class" not in self.__dict__
        ):
            return _reading.noted(self, call, original)
        return _reading.getresponse(self, types.MethodType(original, self), **extra)

    return getresponse


def _connection_response_class(original: typing.Any) -> typing.Any:
    # http.client calls it on the connection, so it may be a method: that knows whose answer it is.
    return _reading.response_class


def _connection_close(original: typing.Any) -> typing.Any:
    # A response that is closed unread closes its connection and never comes back to the pool.
    @functools.wraps(original)
    def close(self: typing.Any) -> None:
        call = self._onewrite_attempt
        if self._onewrite_own or call is None or (type(call) is Plain and call._answering):
            original(self)
        else:
            _exchange.close(self, types.MethodType(original, self))

    return close


def _manager_urlopen(original: typing.Any) -> typing.Any:
    # Redirects of a manager are recursive calls of this.
    return _urlopen(original, False)


def _pool_urlopen(original: typing.Any) -> typing.Any:
    # Retries are recursive calls of this; requests and elastic-transport come in here.
    return _urlopen(original, True)


def _urlopen(original: typing.Any, of_pool: bool) -> typing.Any:
    # One function for both: they run one inside the other, and what has just run is quicker.
    @functools.wraps(original)
    def urlopen(self: typing.Any, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        call: typing.Any = _current.get()
        if of_pool and type(call) is Plain and not call._attempted:
            call._attempted = call._unserved = True
            return original(self, method, url, *args, **kwargs)
        hooks = _hooks
        if hooks is None or getattr(self, "_onewrite_hooks", None) is not None:
            return original(self, method, url, *args, **kwargs)
        if call is None and hooks.listener is None:
            whole = _record.url_of(self, url) if of_pool and url[:1] == "/" else url
            call = _record.begin_plain(method, whole, hooks.on_timing, of_pool)
            # Somebody may give up between any two steps: what is set is set back then, too.
            try:
                _current.set(call)
                response = original(self, method, url, *args, **kwargs)
                _current.set(None)
            except BaseException as error:
                _current.set(None)
                _moments.unfold_installed(call)
                _record.call_failed(call, error)
                raise
            if type(call) is Plain and call._end:
                _record.hand_out(call)
            else:
                _calls.returned(call, response)
            try:
                return response
            finally:
                del response  # see _calls.call
        bound = types.MethodType(original, self)
        if of_pool:
            return _calls.pool_urlopen(self, hooks, bound, method, url, args, kwargs)
        return _calls.manager_urlopen(hooks, bound, method, url, args, kwargs)

    return urlopen


def _pool_get_conn(original: typing.Any) -> typing.Any:
    # The only place that knows which connection a request gets, and that it had to wait for it.
    @functools.wraps(original)
    def _get_conn(self: typing.Any, timeout: typing.Any = None) -> typing.Any:
        call = _current.get()
        if type(call) is not Plain or not call._unserved or (self.block and _calls.waits(self)):
            if _hooks is None or getattr(self, "_onewrite_hooks", None) is not None:
                return original(self, timeout)
            return _calls.get_conn(self, types.MethodType(original, self), (timeout,), {})
        conn = original(self, timeout)
        link = getattr(conn, "_onewrite_link", None)
        if link is None or conn.sock is None or link.sock is not conn.sock or conn._onewrite_own:
            _calls.pin(conn, _moments.followed(call))
        else:
            conn._onewrite_attempt = call
            call._conn = conn
            call._unserved = False
        return conn

    return _get_conn


def _pool_put_conn(original: typing.Any) -> typing.Any:
    # Reached when a response was read to its end or released.
    @functools.wraps(original)
    def _put_conn(self: typing.Any, conn: typing.Any) -> None:
        call = getattr(conn, "_onewrite_attempt", None)
        if type(call) is Plain and (call._read or call.complete()):
            conn._onewrite_attempt = call._conn = None
            call._end = conn._onewrite_link.idle_since = _now()
            original(self, conn)
        elif call is None or getattr(self, "_onewrite_hooks", None) is not None:
            original(self, conn)
        else:
            _calls.put_conn(types.MethodType(original, self), conn)

    return _put_conn


Patch = tuple[type, str, typing.Any]


def _patches(hooks: bool, quickack: bool) -> list[Patch]:
    """What is replaced, in an order in which a request under way is never cut in two.

    What only timing needs is replaced only for timing: without a hook, urllib3's pools run untouched.
    """
    connection = _Connection
    pool = urllib3.connectionpool.HTTPConnectionPool
    patches: list[Patch] = [
        (connection, "send", _connection_send),
        (connection, "__init__", _connection_init),
        (connection, "connect", _connection_connect),
        (urllib3.connection.HTTPSConnection, "connect", _connection_connect),
    ]
    if hooks or quickack:
        patches.append((connection, "getresponse", _connection_getresponse))
    if hooks:
        if vars(connection).get("response_class", _reading.response_class) is _reading.response_class:
            patches.append((connection, "response_class", _connection_response_class))
        patches += [
            (connection, "close", _connection_close),
            (pool, "_put_conn", _pool_put_conn),
            (pool, "_get_conn", _pool_get_conn),
            (pool, "urlopen", _pool_urlopen),
            (urllib3.PoolManager, "urlopen", _manager_urlopen),
        ]
    patches.append((connection, "request", _connection_request))
    if _base.IS_V1:
        patches.append((connection, "request_chunked", _connection_request_chunked))
    return patches


def install(
    *,
    on_timing: typing.Callable[[Timing], object] | None = None,
    listener: TimingListener | None = None,
    nodelay_disabled: bool | None = None,
    coalesce_disabled: bool | None = None,
    hooks_disabled: bool | None = None,
    coalesce_max: int | None = None,
    quickack: bool | None = None,
) -> None:
    """Make every urllib3 connection of this process send a request in one write, with TCP_NODELAY on.

    Call it once, early. Called again it changes hooks and options, for connections made and calls
    started from then on. An option left out or None is as the environment has it. Safe to call from
    any thread. With ``ONEWRITE_DISABLED=true`` it does nothing.

    Raises UnsupportedBaseError, an ImportError, when the installed urllib3 is not one that onewrite
    knows (1.26 and 2.x): nothing is changed then. Raises TypeError or ValueError for an option that does
    not exist or is out of range.
    """
    global _hooks
    given = {
        "nodelay_disabled": nodelay_disabled,
        "coalesce_disabled": coalesce_disabled,
        "hooks_disabled": hooks_disabled,
        "coalesce_max": coalesce_max,
        "quickack": quickack,
    }
    resolved = _options.resolve({name: value for name, value in given.items() if value is not None})
    hooks = make_hooks(on_timing, listener, resolved.hooks_disabled)
    if resolved.disabled:
        return
    _base.require()
    with _lock:
        connection = _Connection
        if not _exchange.installed(connection):
            for name, value in _exchange.STATE.items():
                setattr(connection, name, value)
        connection._onewrite_options = resolved  # type: ignore[attr-defined]
        _exchange.undoing = _record.unwatched = False
        if hooks is not None:
            hooks.installed = True
        _hooks = hooks
        setattr(connection, _exchange.INSTALLED, True)
        # What uninstall() had to leave works again, unless it has gone with the wrapper that was around it.
        _replaced[:] = [one for one in _replaced if one[0].__dict__.get(one[1]) is not one[2]]
        present = {(owner, name) for owner, name, *_ in _replaced}
        for owner, name, wrap in _patches(hooks is not None, resolved.quickack):
            if (owner, name) in present:
                continue
            own = owner.__dict__.get(name)
            ours = wrap(own if own is not None else getattr(owner, name))
            _replaced.append((owner, name, own, ours))
            setattr(owner, name, ours)
            if owner is connection:
                _fast.replaced(name, own, ours)


def uninstall() -> None:
    """Put urllib3's own methods back; without an install() before it, do nothing.

    Connections that are open stay open and are urllib3's own from the next request on. A request that
    another thread is just putting together is finished first; a response that is still being read gets its
    record now. A method that someone else has wrapped since install() stays as it is, with ours inside it
    doing nothing; which those are is logged.
    """
    global _hooks
    connection = _Connection
    with _lock:
        _hooks = None
        if not _exchange.installed(connection):
            return
        _exchange.undoing = _record.unwatched = True
        deadline = time.monotonic() + 2.0
        while _exchange.holding and time.monotonic() < deadline:
            time.sleep(0.001)
        _exchange.holding.clear()  # a request that was given up at the wrong moment stays in there
        connection._onewrite_own = True  # type: ignore[attr-defined]
        delattr(connection, _exchange.INSTALLED)
        left = []
        for one in reversed(_replaced):
            owner, name, own, ours = one
            if owner.__dict__.get(name) is not ours:
                left.append(one)
            elif own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
            if owner is connection:
                _fast.replaced(name, ours, own)
        _replaced[:] = reversed(left)
    if left:
        names = ", ".join(f"{owner.__name__}.{name}" for owner, name, *_ in left)
        _options.log.warning("uninstall: %s: wrapped by someone else since install(), left in place, idle", names)
    _record.end_unwatched()
