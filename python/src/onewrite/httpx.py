"""Records of the requests of httpx and httpx2, and of the SDKs that build their clients on them.

``handle_request`` of the libraries' own transports is wrapped: it is called once for each request that is sent. The
times are those of httpcore's ``trace`` extension (https://www.encode.io/httpcore/extensions/#trace). How a request is
written stays httpx's: it sets TCP_NODELAY itself. A name is looked up within ``connect_ns``; the wait for a free
connection of the pool is not told.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time
import typing
import weakref

from . import _config, _hooks, _imports, _kernel
from ._config import Scope
from ._hooks import BUSY, Hook, current
from ._patch import Function, Patch
from ._record import Line, Record

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
    "connect_tcp.started": "connect_start",
    "connect_unix_socket.started": "connect_start",
    "connect_tcp.complete": "connect_end",
    "connect_unix_socket.complete": "connect_end",
    "start_tls.started": "tls_start",
    "start_tls.complete": "tls_end",
    "send_request_headers.started": "request_start",
    "send_request_body.complete": "request_end",
    "receive_response_headers.complete": "response_start",
}


class _Exchange:
    """One request: what httpcore tells of it."""

    def __init__(self, request: typing.Any) -> None:
        url = request.url
        target = url.raw_path.decode("ascii", "replace")
        self.record = record = Record(_scope, request.method, (url.scheme, url.host, url.port), target)
        record.reused = True  # until it connects
        self.given = request.extensions
        self.theirs = self.given.get("trace")
        self.line: Line | None = None
        self.in_tunnel = False

    def note(self, name: str, info: dict[str, typing.Any]) -> None:
        """Take the time of a step of httpcore's."""
        record, step = self.record, name.partition(".")[2]
        event = _STEPS.get(step)
        if event == "request_start":
            self.in_tunnel = info["request"].method == b"CONNECT" and record.method != "CONNECT"
            if self.in_tunnel:
                record.connect_end = 0  # the CONNECT exchange is part of connecting
        if self.in_tunnel and "tls" not in step:
            return
        if step in ("send_request_headers.failed", "send_request_body.failed"):
            record.write_failed(info["exception"])
        if event is None:
            return
        setattr(record, event, _now())
        stream = info.get("return_value")
        if event == "request_start":
            record.connection_acquired = record.tls_end or record.connect_end or record.started_at_mono_ns
        elif event == "connect_start":
            record.reused = False
            if info.get("host", record._origin[1]) != record._origin[1]:
                record.proxy = f"{info['host']}:{info['port']}"
        elif event == "tls_start":
            record.connect_end = record.tls_start
        elif event in ("connect_end", "tls_end") and stream is not None:
            self.line = _lines[stream] = line = Line(stream.get_extra_info("socket"), 0)
            line.proxy, line.info, line.info_counts = record.proxy, _kernel.read(line.tcp), True

    def trace(self, name: str, info: dict[str, typing.Any]) -> typing.Any:
        """Take httpcore's call, and call what the user gave as ``trace``."""
        self.note(name, info)
        return None if self.theirs is None else self.theirs(name, info)

    def answered(self, response: typing.Any) -> None:
        """The head was read. Only now httpcore says which connection it came on."""
        record, stream = self.record, response.extensions.get("network_stream")
        record.status = response.status_code
        if not record.response_start or stream is None:
            return  # a mock has answered
        self.line = line = _lines.get(stream)
        if line is None:  # how many requests it has carried that is seen late is not known
            self.line = line = _lines[stream] = Line(stream.get_extra_info("socket"), None)
        record.proxy = line.proxy
        record.take_line(line)
        record.head_read(record.response_start)

    def end(self, error: BaseException | None) -> None:
        """The response is closed, or could not be had."""
        record, line = self.record, self.line
        record._error = error or record._error
        self.line = None
        if line is not None and record.request_start:
            record.take_line(line)
            line.requests = record.conn_requests
        if record.end() is not None and _scope.hooks:
            _hooks.call(_scope.hooks, record)


class _AsyncExchange(_Exchange):
    async def trace(self, name: str, info: dict[str, typing.Any]) -> None:
        self.note(name, info)
        if self.theirs is not None:
            await self.theirs(name, info)


class _Parts:
    """Iterates over the parts of a body. A generator that is left open would be closed later than the one below."""

    __slots__ = ("_parts", "_record")

    def __init__(self, parts: typing.Any, record: Record) -> None:
        self._parts, self._record = parts, record
        record.bytes_received = record.bytes_received or 0

    def __iter__(self) -> _Parts:
        return self

    __aiter__ = __iter__

    def __next__(self) -> bytes:
        try:
            return self._count(next(self._parts))
        except BaseException as error:
            self._stopped(error)
            raise

    async def __anext__(self) -> bytes:
        try:
            return self._count(await self._parts.__anext__())
        except BaseException as error:
            self._stopped(error)
            raise

    def _count(self, part: bytes) -> bytes:
        self._record.bytes_received += len(part)  # type: ignore[operator]
        return part

    def _stopped(self, error: BaseException) -> None:
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            self._record.response_end = _now()
        else:
            self._record._error = error


def _places(library: typing.Any) -> list[Patch]:
    """Return what is replaced in *library*: handle_request of its transports, sync and async.

    The stream of a response is replaced as well: its close() ends the record, in no finalizer. A client puts a stream
    of its own around it in any case.
    """

    class Stream(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, below: typing.Any, exchange: _Exchange) -> None:
            self._below, self._exchange = below, exchange

        def __iter__(self) -> typing.Iterator[bytes]:
            return _Parts(iter(self._below), self._exchange.record)

        def close(self) -> None:
            try:
                self._below.close()
            finally:
                self._exchange.end(None)

    class AsyncStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, below: typing.Any, exchange: _Exchange) -> None:
            self._below, self._exchange = below, exchange

        def __aiter__(self) -> typing.AsyncIterator[bytes]:
            return _Parts(self._below.__aiter__(), self._exchange.record)

        async def aclose(self) -> None:
            try:
                await self._below.aclose()
            finally:
                self._exchange.end(None)

    def blocking(stock: Function) -> Function:
        def handle_request(self: typing.Any, request: typing.Any) -> typing.Any:
            if not _scope.hooks or current.get() is BUSY:
                return stock(self, request)
            exchange = _Exchange(request)
            request.extensions = {**exchange.given, "trace": exchange.trace}
            try:
                response = stock(self, request)
            except BaseException as error:
                exchange.end(error)
                raise
            finally:
                request.extensions = exchange.given
            exchange.answered(response)
            response.stream = Stream(response.stream, exchange)
            return response

        return handle_request

    def asynchronous(stock: Function) -> Function:
        async def handle_async_request(self: typing.Any, request: typing.Any) -> typing.Any:
            if not _scope.hooks or current.get() is BUSY:
                return await stock(self, request)
            exchange = _AsyncExchange(request)
            request.extensions = {**exchange.given, "trace": exchange.trace}
            try:
                response = await stock(self, request)
            except BaseException as error:
                exchange.end(error)
                raise
            finally:
                request.extensions = exchange.given
            exchange.answered(response)
            response.stream = AsyncStream(response.stream, exchange)
            return response

        return handle_async_request

    return [
        Patch(library.HTTPTransport, "handle_request", blocking),
        Patch(library.AsyncHTTPTransport, "handle_async_request", asynchronous),
    ]


def _patch(name: str) -> None:
    library = sys.modules[name]
    if name not in _patches:
        if "_onewrite" in vars(library.HTTPTransport):
            log.warning("another copy of onewrite has patched %s; this one (%s) stays off", name, __file__)
            return
        _patches[name] = _places(library)
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
    hook = None if on_timing is None else Hook(on_timing)

    def remove() -> None:
        with _lock:
            _scope.hooks = tuple(known for known in _scope.hooks if known.function != on_timing)

    with _lock:
        if not _config.DISABLED:
            remove()
            if hook is not None:
                _scope.hooks = (*_scope.hooks, hook)
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
