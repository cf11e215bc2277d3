"""Records of the requests of httpx and httpx2, and of the SDKs that build their clients on them.

``handle_request`` of the libraries' own transports is wrapped: it is called once for each request that is sent. The
times are those of httpcore's ``trace`` extension (https://www.encode.io/httpcore/extensions/#trace). How a request is
written stays httpx's: it sets TCP_NODELAY itself. A name is looked up within ``connect_ns``; the wait for a free
connection of the pool is not told.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import threading
import time
import typing
import weakref

from . import _config, _hooks, _imports, _kernel
from ._config import Scope
from ._hooks import BUSY, current
from ._patch import Function, Patch
from ._record import DEFAULT_PORTS, Line, Record

__all__ = ["install", "uninstall"]

log = logging.getLogger("onewrite")
_now = time.monotonic_ns
_lock = threading.RLock()
_scope = Scope()
#: By library: what waits for its import, and what is replaced.
_finders: dict[str, typing.Any] = {}
_patches: dict[str, list[Patch]] = {}
#: What is kept of a connection, by its network stream.
_lines: weakref.WeakKeyDictionary[typing.Any, Line] = weakref.WeakKeyDictionary()

#: The events of a record that are steps of httpcore's.
_STEPS = {
    "connect_tcp.started": "connect_start", "connect_unix_socket.started": "connect_start",
    "connect_tcp.complete": "connect_end", "connect_unix_socket.complete": "connect_end",
    "start_tls.started": "tls_start", "start_tls.complete": "tls_end",
    "send_request_headers.started": "request_start", "send_request_body.complete": "request_end",
    "receive_response_headers.complete": "response_start", "receive_response_body.complete": "response_end",
}  # fmt: skip


class _Exchange:
    """One request: its record, filled while httpcore traces its steps."""

    def __init__(self, request: typing.Any, is_async: bool) -> None:
        url = request.url
        origin = url.scheme, url.raw_host.decode("ascii"), url.port
        self.record = record = Record(_scope, request.method, origin, url.raw_path.decode("ascii", "replace"))
        record.reused = True  # until it connects
        self.line: Line | None = None
        self._request, self._is_async = request, is_async
        # A request that is being sent twice at a time has the other exchange's trace.
        other = getattr(request.extensions.get("trace"), "__self__", None)
        self._extensions: typing.Any = other._extensions if isinstance(other, _Exchange) else request.extensions
        self._users_trace = self._extensions.get("trace")
        self._in_tunnel = False

    def __enter__(self) -> _Exchange:
        self._request.extensions = {**self._extensions, "trace": self._trace}
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._request.extensions = self._extensions
        if error is not None:
            self.end(error)

    def _trace(self, name: str, info: dict[str, typing.Any]) -> typing.Any:
        """Record a step of httpcore's, and call the user's ``trace``."""
        with contextlib.suppress(Exception):  # of a network stream of the user's
            self._record_step(name.partition(".")[2], info)
        if self._users_trace is not None:
            return self._users_trace(name, info)
        return _nothing() if self._is_async else None

    def _record_step(self, step: str, info: dict[str, typing.Any]) -> None:
        record, event = self.record, _STEPS.get(step)
        if event == "request_start":
            self._in_tunnel = info["request"].method == b"CONNECT" and record.method != "CONNECT"
            if self._in_tunnel:
                record.connect_end = 0  # the CONNECT exchange is part of connecting
        if self._in_tunnel and "tls" not in step:
            return
        if step in ("send_request_headers.failed", "send_request_body.failed"):
            record.write_failed(info["exception"])
            if step == "send_request_headers.failed" and type(info["exception"]).__name__ == "LocalProtocolError":
                record.request_start = 0  # refused before its first byte
        elif step == "receive_response_body.failed" and not isinstance(info["exception"], GeneratorExit):
            record._error = info["exception"]
        if event is None:
            return
        setattr(record, event, _now())
        stream = info.get("return_value")
        if event == "request_start":
            record.connection_acquired = record.tls_end or record.connect_end or record.started_at_mono_ns
        elif event == "connect_start":
            record.reused = False
            scheme, host, port = record._origin
            if "host" in info and (info["host"], info["port"]) != (host, port or DEFAULT_PORTS.get(scheme)):
                record.proxy = f"{info['host']}:{info['port']}"
        elif event == "tls_start":
            record.connect_end = record.tls_start
        elif event in ("connect_end", "tls_end") and stream is not None:
            self.line = _lines[stream] = line = Line(stream.get_extra_info("socket"), 0)
            line.proxy, line.info, line.info_counts = record.proxy, _kernel.read(line.tcp), True

    def head_read(self, response: typing.Any) -> None:
        """Record the answer. Only now httpcore says which connection it came on."""
        record, stream = self.record, response.extensions.get("network_stream")
        record.status = response.status_code
        if not record.response_start or stream is None:
            return  # a mock has answered
        self.line = line = _lines.get(stream)
        if line is None:  # how many requests it has carried that is seen late is not known
            self.line = line = _lines[stream] = Line(stream.get_extra_info("socket"), None)
        record.proxy = line.proxy
        record.use_line(line)
        record.head_read(record.response_start)
        if record.method == "HEAD" or record.status in (204, 304) or response.headers.get("Content-Length") == "0":
            record.response_end = record.response_start  # there is no body

    def end(self, error: BaseException | None) -> None:
        """The response is closed, or could not be had."""
        record, line = self.record, self.line
        record._error = error or record._error
        self.line = None
        if line is not None and record.request_start:
            record.use_line(line)
            line.requests = record.conn_requests
        if record.end() is not None and _scope.hooks:
            _hooks.call(_scope.hooks, record)


async def _nothing() -> None:
    """Be what httpcore awaits."""


def _is_off() -> bool:
    return not _scope.hooks or current.get() is BUSY


def _patches_of(library: typing.Any) -> list[Patch]:
    """Return what is replaced in *library*: handle_request of its transports, sync and async."""

    class Stream(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """Stands before the stream of a response, as a client's own does: its close() ends the record."""

        def __init__(self, exchange: _Exchange, response: typing.Any) -> None:
            self._exchange, self._below, self._response = exchange, response.stream, weakref.ref(response)

        def __iter__(self) -> typing.Iterator[bytes]:
            return iter(self._below)

        def __aiter__(self) -> typing.AsyncIterator[bytes]:
            return self._below.__aiter__()  # type: ignore[no-any-return]

        def close(self) -> None:
            try:
                self._below.close()
            finally:
                self._end()

        async def aclose(self) -> None:
            try:
                await self._below.aclose()
            finally:
                self._end()

        def _end(self) -> None:
            self._exchange.record.bytes_received = getattr(self._response(), "num_bytes_downloaded", None)
            self._exchange.end(None)

    def answered(exchange: _Exchange, response: typing.Any) -> typing.Any:
        with contextlib.suppress(Exception):
            exchange.head_read(response)
        response.stream = Stream(exchange, response)
        return response

    def blocking(stock: Function) -> Function:
        def handle_request(self: typing.Any, request: typing.Any) -> typing.Any:
            if _is_off():
                return stock(self, request)
            with _Exchange(request, is_async=False) as exchange:
                response = stock(self, request)
            return answered(exchange, response)

        return handle_request

    def asynchronous(stock: Function) -> Function:
        async def handle_async_request(self: typing.Any, request: typing.Any) -> typing.Any:
            if _is_off():
                return await stock(self, request)
            with _Exchange(request, is_async=True) as exchange:
                response = await stock(self, request)
            return answered(exchange, response)

        return handle_async_request

    return [
        Patch(library.HTTPTransport, "handle_request", blocking),
        Patch(library.AsyncHTTPTransport, "handle_async_request", asynchronous),
    ]


def _patch(name: str) -> None:
    library = sys.modules[name]
    if name not in _patches:
        if "_onewrite" in vars(getattr(library, "HTTPTransport", object)):
            log.warning("another copy of onewrite has patched %s; this one (%s) stays off", name, __file__)
            return
        try:
            _patches[name] = _patches_of(library)
        except AttributeError as error:
            log.warning("this %s is not supported: %s; it stays as it is", name, error)
            return
    library.HTTPTransport._onewrite = True
    for patch in _patches[name]:
        patch.apply()


def install(on_timing: typing.Callable[..., object] | None = None) -> typing.Callable[[], None]:
    """Give *on_timing* the record of each request of httpx and httpx2 when its response is closed.

    Clients that exist are reached. A library that is not imported yet is patched right after its import. A response
    that is neither closed, as by ``with``, nor read to its end has no record.

    Returns:
        a function that removes this hook.

    Raises:
        TypeError: a hook that cannot be called.
    """

    def remove() -> None:
        with _lock:
            _scope.hooks = _hooks.removed(_scope.hooks, on_timing)

    with _lock:
        hooks = _hooks.added(_scope.hooks, on_timing)
        if not _config.DISABLED:
            _scope.hooks = hooks
            for name in ("httpx", "httpx2"):
                if name in sys.modules or name not in _finders:
                    _finders[name] = _imports.when_imported(name, functools.partial(_patch, name))
    return remove


def uninstall() -> None:
    """Leave the libraries as they were. Requests under way make no record."""
    with _lock:
        _scope.hooks = ()
        for finder in _finders.values():
            _imports.forget(finder)
        _finders.clear()
        for name, patches in _patches.items():
            for patch in patches:
                patch.undo()
            if not any(patch.applied for patch in patches) and "_onewrite" in vars(sys.modules[name].HTTPTransport):
                del sys.modules[name].HTTPTransport._onewrite
