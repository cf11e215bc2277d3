"""Network streams in which the head of a request waits for its body, and backends that make them.

httpcore writes once for each event of h11: the head, every piece of the body, the end of the message. Then it reads.
A head and the pieces of a body that is at hand wait here until it reads, and leave in one write. Everything else passes
at once: bodies that may block, the CONNECT of a tunnel, HTTP/2, what follows an upgrade.
"""

from __future__ import annotations

import functools
import sys
import typing

from .._config import Options
from .._front import in_front
from .._sockets import host_and_port
from .._timing.connection import Connection
from .._wire import nodelay
from .base import PAIRS
from .exchange import Exchange, current

Steps = typing.Generator[typing.Any, typing.Any, typing.Any]


def go(steps: Steps) -> typing.Any:
    """Run *steps*, which yield what a blocking object returned; return their value."""
    found = None
    try:
        while True:
            found = steps.send(found)
    except StopIteration as stop:
        return stop.value


async def go_async(steps: Steps) -> typing.Any:
    """Run *steps*, which yield what to await; return their value."""
    try:
        awaited = steps.send(None)
        while True:
            try:
                found = await awaited
            except BaseException as error:
                awaited = steps.throw(error)
            else:
                awaited = steps.send(found)
    except StopIteration as stop:
        return stop.value


def _copy_of(below: typing.Any) -> typing.Any:
    return below


class _Around:
    """Stands in for the stream or backend *below*. Its copies and pickles are those of *below*."""

    below: typing.Any

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.below, name)

    def __reduce__(self) -> typing.Any:
        return _copy_of, (self.below,)


class _Wrapped(_Around):
    """A network stream. Its methods are written once, as steps that are run or awaited."""

    def __init__(self, below: typing.Any, connection: Connection) -> None:
        self.below = below
        #: The connection as the records number it; the same before and after start_tls().
        self.connection = connection

    def _write(self, buffer: bytes, timeout: float | None = None) -> Steps:
        exchange = current.get()
        for data in (buffer,) if exchange is None else exchange.due(self, buffer, timeout):
            yield from self._send(exchange, data, timeout)

    def _send(self, exchange: Exchange | None, data: bytes | memoryview, timeout: float | None) -> Steps:
        if type(data) is not bytes and type(self.below).__module__.partition(".")[0] not in PAIRS:
            data = bytes(data)  # a class of the user may keep what it gets, or rely on its type
        call = None if exchange is None or not data else exchange.timing(self)
        if call is not None and not call.request_start:
            call.first_write()
        yield self.below.write(data, timeout)
        if call is not None:
            call.bytes_sent += len(data)
            call.writes += 1

    def rest(self, exchange: Exchange) -> Steps:
        """Write what is held."""
        data = exchange.overdue(self)
        if data:
            try:
                yield from self._send(exchange, data, exchange.timeout)
            except Exception as error:
                core = sys.modules.get(type(error).__module__.partition(".")[0])
                if not isinstance(error, getattr(core, "WriteError", ())):  # else httpcore reads an early answer
                    raise

    def _read(self, max_bytes: int, timeout: float | None = None) -> Steps:
        exchange = current.get()
        call = None
        if exchange is not None:
            yield from self.rest(exchange)
            call = exchange.timing(self)
            if call is not None:
                call.sent()
        data = yield self.below.read(max_bytes, timeout)
        if exchange is not None and call is not None:
            exchange.received(data)
        return data

    def _close(self, close: typing.Callable[[], typing.Any]) -> Steps:
        exchange = current.get()
        try:  # what is held is sent first, as httpcore would have sent it before the error that closes
            if exchange is not None and (data := exchange.overdue(self)):
                yield from self._send(exchange, data, exchange.timeout)
        except Exception:  # the error that closes the connection is the one to raise
            pass
        finally:
            yield close()

    def _over_tls(self, args: typing.Any, kwargs: typing.Any) -> Steps:
        exchange = current.get()
        if exchange is not None:
            exchange.tls_starts(args[1] if len(args) > 1 else kwargs.get("server_hostname"))
        stream = yield self.below.start_tls(*args, **kwargs)
        if exchange is not None:
            exchange.tls_ends()
        return type(self)(stream, self.connection)

    def __repr__(self) -> str:
        return repr(self.below)  # httpcore logs it

    def get_extra_info(self, info: str) -> typing.Any:
        """As the stream below."""
        return self.below.get_extra_info(info)


class Stream(_Wrapped):
    """A blocking network stream (httpcore's NetworkStream)."""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        go(self._write(buffer, timeout))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        return go(self._read(max_bytes, timeout))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Write what is held, then close."""
        go(self._close(self.below.close))

    def start_tls(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the same over TLS."""
        return go(self._over_tls(args, kwargs))


class AsyncStream(_Wrapped):
    """A network stream of asyncio or trio (httpcore's AsyncNetworkStream)."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        await go_async(self._write(buffer, timeout))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        return await go_async(self._read(max_bytes, timeout))  # type: ignore[no-any-return]

    async def aclose(self) -> None:
        """Write what is held, then close."""
        await go_async(self._close(self.below.aclose))

    async def start_tls(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the same over TLS."""
        return await go_async(self._over_tls(args, kwargs))


class _Wrapping(_Around):
    """A backend."""

    def __init__(self, below: typing.Any, options: typing.Callable[[], Options], stream: type) -> None:
        self.below = below
        self.options = options
        self._stream = stream

    def _connect(self, connect: typing.Any, args: typing.Any, kwargs: typing.Any) -> Steps:
        exchange = current.get()
        if exchange is not None:
            exchange.connecting(kwargs.get("path") or host_and_port(kwargs.get("host", ""), kwargs.get("port", 0)))
        stream = yield connect(*args, **kwargs)
        if exchange is not None:
            exchange.connected()
        # A user's own backend may not set it. What can be read once only may have switched it off.
        named = kwargs.get("socket_options")
        if self.options().nodelay and not isinstance(named, typing.Iterator):
            nodelay.ensure(stream.get_extra_info("socket"), named)
        return self._stream(stream, Connection(None))


class Backend(_Wrapping):
    """A blocking backend (httpcore's NetworkBackend)."""

    def connect_tcp(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return go(self._connect(self.below.connect_tcp, args, kwargs))

    def connect_unix_socket(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return go(self._connect(self.below.connect_unix_socket, args, kwargs))

    def sleep(self, seconds: float) -> None:
        """As the backend below."""
        self.below.sleep(seconds)


class AsyncBackend(_Wrapping):
    """A backend of asyncio or trio (httpcore's AsyncNetworkBackend)."""

    async def connect_tcp(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return await go_async(self._connect(self.below.connect_tcp, args, kwargs))

    async def connect_unix_socket(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return await go_async(self._connect(self.below.connect_unix_socket, args, kwargs))

    async def sleep(self, seconds: float) -> None:
        """As the backend below."""
        await self.below.sleep(seconds)


@functools.cache
def backend_class(name: str, asynchronous: bool) -> typing.Callable[[typing.Any, typing.Any], typing.Any]:
    """Return what wraps a backend of the core *name*; it and its streams are instances of the core's interfaces."""
    core = sys.modules[name]
    if asynchronous:
        backend, stream = (
            in_front(AsyncBackend, core.AsyncNetworkBackend),
            in_front(AsyncStream, core.AsyncNetworkStream),
        )
    else:
        backend, stream = in_front(Backend, core.NetworkBackend), in_front(Stream, core.NetworkStream)
    return functools.partial(backend, stream=stream)
