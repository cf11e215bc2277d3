"""The functions of urllib3 that are wrapped while there is a hook.

``urlopen`` begins a record, ``_get_conn`` hangs it on the connection, and ``_put_conn`` or ``close`` ends it: then the
connection is free or closed. urllib3 calls ``urlopen`` again for each retry and redirect, so each has its own record.
Nothing ends a record in a finalizer: a hook that takes a lock would meet itself there.
"""

from __future__ import annotations

import sys
import time
import typing

from urllib3.exceptions import HTTPError, ProtocolError

from . import _hooks
from ._base_version import HTTPConnection
from ._config import installed
from ._hooks import BUSY, current
from ._link import Link, link_of
from ._patch import Function
from ._record import Record

_now = time.monotonic_ns


def _end(record: Record) -> None:
    scope = record.end()
    if scope is not None:
        _hooks.call(installed.hooks if scope is installed else installed.hooks + scope.hooks, record)


# -- of pools -------------------------------------------------------------------------------------------


def urlopen(stock: Function) -> Function:
    """Wrap ``HTTPConnectionPool.urlopen``, the one call that knows method, URL and every failure of a request."""

    def urlopen(
        self: typing.Any, method: typing.Any, url: typing.Any, *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Any:
        scope = getattr(self, "_onewrite", None) or installed
        if not (installed.hooks or scope.hooks):
            return stock(self, method, url, *args, **kwargs)
        outer = current.get()
        # Of a hook; or of a pool's class whose urlopen() calls this one.
        if outer is not None and (outer is BUSY or not (outer.is_attached or outer.outcome)):
            return stock(self, method, url, *args, **kwargs)
        record = Record(scope, method, (self.scheme, self.host, self.port), url)
        if self.proxy is not None or "_socks_options" in self.conn_kw:
            record.proxy = _proxy_of(self)
        history = getattr(kwargs.get("retries") or (args[2] if len(args) > 2 else None), "history", None)
        if history:
            record.resend = len(history)
        token = current.set(record)
        try:
            response = stock(self, method, url, *args, **kwargs)
        except BaseException as error:
            if not record.is_attached:  # else _put_conn() has ended it
                record._error = error
                _end(record)
            raise
        finally:
            current.reset(token)
        if not record.is_attached:  # a recorder or a mock has answered
            record.status = getattr(response, "status", None)
            _end(record)
        record._returned = True
        return response

    return urlopen


def _proxy_of(pool: typing.Any) -> str:
    if pool.proxy is not None:
        return f"{pool.proxy.host}:{pool.proxy.port or (443 if pool.proxy.scheme == 'https' else 80)}"
    socks = pool.conn_kw["_socks_options"]
    return f"{socks['proxy_host']}:{socks['proxy_port'] or 1080}"


def get_conn(stock: Function) -> Function:
    """Wrap ``HTTPConnectionPool._get_conn``: the wait for a free connection, and which one it is."""

    def _get_conn(self: typing.Any, timeout: float | None = None) -> typing.Any:
        conn = stock(self, timeout)
        record = current.get()
        if record is None or record is BUSY or record.is_attached or not isinstance(conn, HTTPConnection):
            return conn
        t_ns = _now()
        if self.block:
            record.queue_start, record.queue_end = record.started_at_mono_ns, t_ns
        record.is_attached = True
        record.reused = getattr(conn, "sock", None) is not None
        if record.reused:
            record.connection_acquired = t_ns
        (getattr(conn, "_onewrite", None) or link_of(conn)).record = record
        return conn

    return _get_conn


def put_conn(stock: Function) -> Function:
    """Wrap ``HTTPConnectionPool._put_conn``, which frees a connection, or gets None for one that was closed."""

    def _put_conn(self: typing.Any, conn: typing.Any) -> None:
        if conn is None:
            record = current.get()
            if record is BUSY:
                record = None
            elif record is not None and record._error is None:
                record._error = sys.exc_info()[1] or ProtocolError()
        else:
            link: Link | None = getattr(conn, "_onewrite", None)
            record = None
            if link is not None:
                record, link.record = link.record, None
            if record is not None and not record.response_end and record._below is not None:
                record.response_end = _now() if record._below.isclosed() else 0  # the caller has read it to its end
        try:
            stock(self, conn)
        finally:
            if record is not None:
                _end(record)

    return _put_conn


# -- of connections -------------------------------------------------------------------------------------


def connect(stock: Function) -> Function:
    """Wrap ``connect`` of both connection classes: neither calls the other's."""

    def connect(self: typing.Any) -> None:
        link: typing.Any = getattr(self, "_onewrite", None)
        record = link and link.record
        if record is None:
            stock(self)
            return
        link.record = None  # a CONNECT is no write of the request
        record.connect_start = _now()
        try:
            stock(self)
        except BaseException as error:
            record._error = error
            raise
        else:
            record.connection_acquired = t_ns = _now()
            if record.tls_start:
                record.tls_end = t_ns
            else:
                record.connect_end = t_ns
        finally:
            link.record = record

    return connect


def _connecting() -> Record | None:
    record = current.get()
    return record if isinstance(record, Record) and record.connect_start and not record.request_start else None


def looked_up(stock: Function) -> Function:
    """Wrap what urllib3 calls between looking a name up and the TCP handshake with its first address."""

    def _set_socket_options(sock: typing.Any, options: typing.Any) -> None:
        stock(sock, options)
        record = _connecting()
        if record is not None and not record.dns_end:
            host = record.proxy.rpartition(":")[0] if record.proxy else str(record._origin[1])
            if ":" not in host and not host.replace(".", "").isdigit():  # an address is not looked up
                record.dns_start, record.dns_end = record.connect_start, _now()
                record.connect_start = record.dns_end

    return _set_socket_options


def tls(stock: Function) -> Function:
    """Wrap what does a TLS handshake. Behind an https proxy the last one is with the origin."""

    def ssl_wrap_socket(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        record = _connecting()
        if record is not None:
            record.connect_end = record.tls_start = _now()
        return stock(*args, **kwargs)

    return ssl_wrap_socket


def getresponse(stock: Function) -> Function:
    """Wrap ``HTTPConnection.getresponse``, which reads the head."""

    def getresponse(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        link: typing.Any = getattr(self, "_onewrite", None)
        record = link and link.record
        if record is None:
            return stock(self, *args, **kwargs)
        record._awaited = True
        try:
            response = stock(self, *args, **kwargs)
        except BaseException as error:
            if "buffering" not in kwargs:  # of Python 2, which urllib3 1.26 tries first
                record._error = error
            raise
        if not record.response_start:  # urllib3 1.26: http.client's response; a subclass with a response of its own
            record.head_read(_now())
            record.status = response.status
        return response

    return getresponse


def close(stock: Function) -> Function:
    """Wrap ``HTTPConnection.close``: a reader gives up, or has met an error."""

    def close(self: typing.Any) -> None:
        link: typing.Any = getattr(self, "_onewrite", None)
        record = link and link.record
        stock(self)
        if record is None or not record._returned:  # within urlopen() its _put_conn() follows
            return
        error = _error_of_reader()
        if isinstance(error, Exception) and not isinstance(error, HTTPError):
            return  # urllib3 raises its own error next, and closes again
        link.record = None
        if not isinstance(error, GeneratorExit):  # a generator is closed, or freed: nobody can tell
            record._error = error
            _end(record)

    return close


def _error_of_reader() -> BaseException | None:
    """Return the error for which urllib3's response is being closed: not one that the caller handles just now."""
    error = sys.exc_info()[1]
    trace = error and error.__traceback__
    name = trace and trace.tb_frame.f_globals.get("__name__")
    return error if name == "urllib3.response" else None


# -- of responses ---------------------------------------------------------------------------------------


def response_made(stock: Function) -> Function:
    """Wrap ``HTTPResponse.__init__``: the head was read, and a body that is preloaded is read in here."""

    def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
        record, below = current.get(), kwargs.get("original_response")
        if below is None or record is None or record is BUSY or not record._awaited or record._below:
            stock(self, *args, **kwargs)
            return
        if not record.response_start:
            record.head_read(_now())
        record.status = kwargs.get("status")
        record._below, record._announced = below, getattr(below, "length", None)
        try:
            stock(self, *args, **kwargs)
        except BaseException as error:
            record._error = error
            raise
        if below.isclosed() or below.length == 0:  # read here, or an answer without a body
            record.response_end, record.bytes_received = _now(), self.tell()
            record._announced = None

    return __init__


def response_closed(stock: Function) -> Function:
    """Wrap ``HTTPResponse.close``, which io.IOBase calls when a response is freed unread: it has no record."""

    def close(self: typing.Any) -> None:
        link = getattr(self._connection, "_onewrite", None)
        if link is not None and getattr(self, "_finalizing", False):  # set by IOBase
            link.record = None
        stock(self)

    return close
