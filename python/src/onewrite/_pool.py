"""Pools and managers of our own; what they pool are our connections."""

from __future__ import annotations

import functools
import operator
import sys
import threading
import typing

import urllib3
import urllib3.connectionpool
import urllib3.poolmanager

from . import _base, _calls, _exchange, _fast_pool, _options, _originals, _straight
from ._connection import HTTPConnection, HTTPSConnection
from ._hooks import Hooks, make_hooks
from ._options import DEFAULTS, Options

#: Methods of urllib3's manager whose work is done here, as they were when onewrite was imported.
_MANAGER_METHODS = ("urlopen", "connection_from_host", "connection_from_context", "connection_from_pool_key")
_manager_dict = urllib3.PoolManager.__dict__
_manager_methods = operator.itemgetter(*_MANAGER_METHODS)
_manager_originals = _originals.own_or_none(urllib3.poolmanager, _manager_methods(_manager_dict))


_choosing: dict[type, bool] = {}


def _chooses_as_we_do(cls: type) -> bool:
    """Whether the manager *cls* finds its pools as ours do."""
    known = _choosing.get(cls)
    if known is not None:
        return known
    known = _choosing[cls] = all(
        getattr(cls, name) is getattr(own, name)
        for name, own in (
            ("connection_from_host", _Manager),
            ("connection_from_pool_key", _Manager),
            ("connection_from_context", urllib3.PoolManager),
        )
    )
    return known


def _split(keywords: dict[str, typing.Any]) -> tuple[Options, Hooks | None]:
    """Take our options and hooks out of *keywords*."""
    on_timing, listener = keywords.pop("on_timing", None), keywords.pop("listener", None)
    options = _options.resolve({name: keywords.pop(name) for name in _options.NAMES & keywords.keys()})
    return options, make_hooks(on_timing, listener, options.hooks_disabled)


#: Likewise of what pools and managers have in common.
_request_methods = operator.attrgetter("request", "request_encode_body")
_request_originals = _originals.own_or_none(
    sys.modules[urllib3.PoolManager.__mro__[1].__module__], _request_methods(urllib3.PoolManager)
)


class _Requests:
    """``request`` of pools and managers: less work where there is nothing to encode."""

    #: The class of urllib3 that this one stands in front of.
    _onewrite_base: typing.Any = None

    if not _base.IS_V1:

        def request(
            self,
            method: str,
            url: str,
            body: typing.Any = None,
            fields: typing.Any = None,
            headers: typing.Any = None,
            json: typing.Any = None,
            **urlopen_kw: typing.Any,
        ) -> typing.Any:
            """Send a request: see :meth:`urllib3.PoolManager.request`."""
            if (
                body is not None
                and fields is None
                and json is None
                and not urlopen_kw
                and _request_methods(self._onewrite_base) == _request_originals
                and type(self).request_encode_body is self._onewrite_base.request_encode_body  # type: ignore[attr-defined]
            ):
                method = method.upper()
                if method not in self._encode_url_methods:  # type: ignore[attr-defined]
                    given = _fast_pool.header_dict(self.headers if headers is None else headers)  # type: ignore[attr-defined]
                    return self.urlopen(method, url, body=body, headers=given)  # type: ignore[attr-defined]
            return super().request(method, url, body, fields, headers, json, **urlopen_kw)  # type: ignore[misc]


class _Pool(_Requests):
    """Behaviour of both pool classes, in front of urllib3's. Without hooks nothing is in the way."""

    if hasattr(urllib3.connectionpool.ConnectionPool, "_new_pool_queue"):

        def _new_pool_queue(self, maxsize: int) -> typing.Any:
            made = super()._new_pool_queue(maxsize)  # type: ignore[misc]
            kind = _fast_pool.queue_class(type(made))
            return made if kind is type(made) else kind(maxsize)

    else:
        QueueCls = _fast_pool.queue_class(urllib3.connectionpool.ConnectionPool.QueueCls)

    _onewrite_options: Options = DEFAULTS
    _onewrite_hooks: Hooks | None = None

    def __init__(self, host: str, port: int | None = None, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_options, self._onewrite_hooks = _split(kwargs)
        super().__init__(host, port, *args, **kwargs)  # type: ignore[call-arg]

    def _new_conn(self) -> typing.Any:
        conn = super()._new_conn()  # type: ignore[misc]
        if isinstance(conn, _exchange.State):
            _exchange.configure(conn, self._onewrite_options)
        return conn

    def urlopen(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Send a request: see :meth:`urllib3.connectionpool.HTTPConnectionPool.urlopen`."""
        hooks = self._onewrite_hooks
        urlopen = super().urlopen  # type: ignore[misc]
        ahead = None
        try:
            if _straight.ON and not args and url[:1] == "/":
                found = _straight.exchange(self, hooks, method, _fast_pool.encoded(url), kwargs)
                if type(found) is _straight.Exchange:
                    ahead = kwargs["pool_timeout"] = found
                elif found is not None:
                    return found
            if hooks is None:
                return urlopen(method, url, *args, **kwargs)
            return _calls.pool_urlopen(self, hooks, urlopen, method, url, args, kwargs)
        finally:
            if ahead is not None:
                ahead.give_up()

    def _get_conn(self, timeout: typing.Any = None) -> typing.Any:
        if type(timeout) is _straight.Exchange:
            if not timeout.taken:
                return timeout.take()
            timeout = None  # a retry
        get_conn = super()._get_conn  # type: ignore[misc]
        if self._onewrite_hooks is None:
            return get_conn(timeout=timeout)
        return _calls.get_conn(self, get_conn, (), {"timeout": timeout})

    def _put_conn(self, conn: typing.Any) -> None:
        put_conn = super()._put_conn  # type: ignore[misc]
        if self._onewrite_hooks is None:
            put_conn(conn)
        else:
            _calls.put_conn(put_conn, conn)


class HTTPConnectionPool(_Pool, urllib3.connectionpool.HTTPConnectionPool):
    """urllib3's HTTPConnectionPool over :class:`onewrite.HTTPConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = HTTPConnection
    _onewrite_base = urllib3.connectionpool.HTTPConnectionPool


class HTTPSConnectionPool(_Pool, urllib3.connectionpool.HTTPSConnectionPool):
    """urllib3's HTTPSConnectionPool over :class:`onewrite.HTTPSConnection`.

    Takes ``on_timing``, ``listener`` and onewrite's options beside urllib3's own arguments.
    """

    ConnectionCls = HTTPSConnection
    _onewrite_base = urllib3.connectionpool.HTTPSConnectionPool


def _refuse_unknown(keywords: typing.Iterable[str]) -> None:
    """urllib3 would find out at the first request, in words of its own."""
    for name in keywords:
        if f"key_{name}" not in urllib3.poolmanager.PoolKey._fields and name != "strict":
            ours = ", ".join(sorted(_options.NAMES))
            raise TypeError(f"neither onewrite nor urllib3 has an option {name!r}; onewrite has {ours}")


class _Manager(_Requests):
    """Behaviour of the managers, in front of urllib3's."""

    _onewrite_options: Options = DEFAULTS
    _onewrite_hooks: Hooks | None = None
    _own_pool_classes: typing.ClassVar[dict[str, typing.Any]] = {
        "http": HTTPConnectionPool,
        "https": HTTPSConnectionPool,
    }

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_options, self._onewrite_hooks = _split(kwargs)
        self._keys = _fast_pool.Keys()
        self._answered = threading.local()
        super().__init__(*args, **kwargs)
        if type(self) in (PoolManager, ProxyManager):
            _refuse_unknown(self.connection_pool_kw)  # type: ignore[attr-defined]
        if not self._onewrite_options.disabled:
            self.pool_classes_by_scheme = dict(self._own_pool_classes)

    def _new_pool(self, scheme: str, host: str, port: int, request_context: typing.Any = None) -> typing.Any:
        pool = super()._new_pool(scheme, host, port, request_context)  # type: ignore[misc]
        if isinstance(pool, _Pool):
            pool._onewrite_options = self._onewrite_options
            pool._onewrite_hooks = self._onewrite_hooks
        return pool

    def urlopen(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Send a request: see :meth:`urllib3.PoolManager.urlopen`."""
        if (
            self.proxy is not None  # type: ignore[attr-defined]
            or type(url) is not str
            or self._onewrite_options.disabled
            # Whoever wraps urllib3's methods, a tracer or install() with hooks, is to see the call.
            or _manager_methods(_manager_dict) != _manager_originals
            # Whoever chooses pools in a way of their own is asked once for each request, as by urllib3.
            or not _chooses_as_we_do(type(self))
            or "connection_from_host" in self.__dict__
        ):
            return self._told(super().urlopen, method, url, args, kwargs)  # type: ignore[misc]
        parsed, target = _fast_pool.parsed(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            return self._told(super().urlopen, method, url, args, kwargs)  # type: ignore[misc]
        # The one pool of this request: another one may be that of its address by the time of the answer.
        pool = self._remembered(parsed.scheme, parsed.host, parsed.port)
        if pool is None:
            pool = self.connection_from_host(parsed.host, port=parsed.port, scheme=parsed.scheme)
        if "headers" not in kwargs:
            kwargs["headers"] = self.headers  # type: ignore[attr-defined]
        ahead = None
        try:
            if _straight.ON and not args and type(pool).urlopen is _Pool.urlopen:
                found = _straight.exchange(pool, self._onewrite_hooks, method, target, kwargs, url)
                if type(found) is _straight.Exchange:
                    ahead = kwargs["pool_timeout"] = found
                elif found is not None:
                    return found
            return self._told(functools.partial(self._urlopen, pool, target), method, url, args, kwargs)
        finally:
            if ahead is not None:
                ahead.give_up()

    def _told(
        self, urlopen: typing.Any, method: str, url: str, args: typing.Any, kwargs: dict[str, typing.Any]
    ) -> typing.Any:
        """Call *urlopen* under the eyes of the hooks."""
        if self._onewrite_hooks is None:
            return urlopen(method, url, *args, **kwargs)
        return _calls.manager_urlopen(self._onewrite_hooks, urlopen, method, url, args, kwargs)

    def _urlopen(
        self,
        pool: typing.Any,
        target: str,
        method: str,
        url: str,
        redirect: bool = True,
        **keywords: typing.Any,
    ) -> typing.Any:
        """urllib3's urlopen with the pool known; redirects are left to it."""
        keywords["assert_same_host"] = keywords["redirect"] = False
        response = pool.urlopen(method, target, **keywords)
        if not redirect or not response.get_redirect_location():
            return response
        self._answered.pool = _fast_pool.Answered(pool, response)
        del keywords["redirect"]
        if type(keywords.get("pool_timeout")) is _straight.Exchange:
            del keywords["pool_timeout"]
        try:
            return super().urlopen(method, url, redirect, **keywords)  # type: ignore[misc]
        finally:
            self._answered.pool = None

    def _remembered(self, scheme: str, host: str, port: int | None) -> typing.Any:
        """The pool whose key is known, while it is there."""
        key = self._keys.get(self, scheme, host, port)
        if key is None:
            return None
        try:
            return self.pools[key]  # type: ignore[attr-defined]
        except KeyError:
            return None  # evicted

    def connection_from_host(
        self,
        host: typing.Any,
        port: int | None = None,
        scheme: str | None = "http",
        pool_kwargs: dict[str, typing.Any] | None = None,
    ) -> typing.Any:
        """Get a pool: see :meth:`urllib3.PoolManager.connection_from_host`."""
        answered = getattr(self._answered, "pool", None)
        if answered is not None:
            self._answered.pool = None
            return answered
        if (
            pool_kwargs is None
            and self.proxy is None  # type: ignore[attr-defined]
            and scheme
            and host
            and _manager_methods(_manager_dict) == _manager_originals
        ):
            pool = self._remembered(scheme, host, port)
            if pool is not None:
                return pool
        self._answered.key = None
        pool = super().connection_from_host(host, port, scheme, pool_kwargs)  # type: ignore[misc]
        key = self._answered.key
        if key is not None and pool_kwargs is None and scheme and host:
            self._keys.put(self, scheme, host, port, key)
        return pool

    def connection_from_pool_key(self, pool_key: typing.Any, request_context: typing.Any = None) -> typing.Any:
        """Get a pool by its key: see :meth:`urllib3.PoolManager.connection_from_pool_key`."""
        cls = type(self)
        if (
            cls.connection_from_context is urllib3.PoolManager.connection_from_context  # type: ignore[attr-defined]
            and cls.connection_from_pool_key is _Manager.connection_from_pool_key
        ):
            self._answered.key = pool_key
        return super().connection_from_pool_key(pool_key, request_context)  # type: ignore[misc]


class PoolManager(_Manager, urllib3.PoolManager):
    """urllib3's PoolManager whose requests leave in one write, with TCP_NODELAY on.

    Takes what urllib3's takes, and:

    - ``on_timing``: called once per call with its finished :class:`onewrite.Timing`;
    - ``listener``: a :class:`onewrite.TimingListener`, gets each event as it happens;
    - the options of onewrite (``coalesce_max``, ``quickack``, …).

    Raises TypeError or ValueError for an option that does not exist or is out of range.
    """

    _onewrite_base = urllib3.PoolManager


class ProxyManager(_Manager, urllib3.ProxyManager):
    """urllib3's ProxyManager whose requests leave in one write, with TCP_NODELAY on.

    Takes what urllib3's takes, and what :class:`onewrite.PoolManager` takes beside it.
    """

    _onewrite_base = urllib3.ProxyManager
