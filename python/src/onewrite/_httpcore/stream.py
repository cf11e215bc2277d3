"""Network streams in which the head of a request waits for its body, and backends that make them.

httpcore writes once for each event of h11: the head, every piece of the body, the end of the message. Then it reads.
A head and the pieces of a body that is at hand wait here until it reads, and leave in one write. Everything else passes
at once: bodies that may block, the CONNECT of a tunnel, HTTP/2, what follows an upgrade.
"""

from __future__ import annotations

import functools
import sys
import typing

from .._front import in_front
from .._settings import Settings
from .._timing.connection import Connection
from .._wire import nodelay
from .exchange import Exchange, current


class _Wrapped:
    """What both kinds of stream share."""

    def __init__(self, stream: typing.Any, connection: Connection) -> None:
        self._stream = stream
        #: The connection as the records number it; the same before and after start_tls().
        self.connection = connection

    def _is_write_error(self, error: Exception) -> bool:
        """Return whether httpcore, which got *error* while it wrote, would go on and read an early answer."""
        core = sys.modules.get(type(error).__module__.partition(".")[0])
        return isinstance(error, getattr(core, "WriteError", ()))

    def __repr__(self) -> str:
        return repr(self._stream)  # httpcore logs it

    def get_extra_info(self, info: str) -> typing.Any:
        """As the stream below."""
        return self._stream.get_extra_info(info)

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._stream, name)


class Stream(_Wrapped):
    """A blocking network stream (httpcore's NetworkStream)."""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        exchange = current.get()
        for data in (buffer,) if exchange is None else exchange.due(self, buffer, timeout):
            self._write(exchange, data, timeout)

    def _write(self, exchange: Exchange | None, data: bytes | memoryview, timeout: float | None) -> None:
        call = None if exchange is None or not data else exchange.timing(self)
        if call is None:
            self._stream.write(data, timeout)
        else:
            call.before_write()
            self._stream.write(data, timeout)
            call.bytes_sent += len(data)
            call.writes += 1

    def flush(self, exchange: Exchange) -> None:
        """Write what is held."""
        data = exchange.overdue(self)
        if data:
            try:
                self._write(exchange, data, exchange.timeout)
            except Exception as error:
                if not self._is_write_error(error):
                    raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        exchange = current.get()
        if exchange is None:
            return self._stream.read(max_bytes, timeout)  # type: ignore[no-any-return]
        self.flush(exchange)
        call = exchange.timing(self)
        if call is not None:
            call.sent()
        data: bytes = self._stream.read(max_bytes, timeout)
        if call is not None:
            exchange.received(data)
        return data

    def close(self) -> None:
        """Close. What is held is sent first, as httpcore would have sent it before the error that closes."""
        exchange = current.get()
        try:
            if exchange is not None and (data := exchange.overdue(self)):
                self._write(exchange, data, exchange.timeout)
        except Exception:  # the error that closes the connection is the one to raise
            pass
        finally:
            self._stream.close()

    def start_tls(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the same over TLS."""
        return type(self)(self._stream.start_tls(*args, **kwargs), self.connection)


class AsyncStream(_Wrapped):
    """A network stream of asyncio or trio (httpcore's AsyncNetworkStream)."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        exchange = current.get()
        for data in (buffer,) if exchange is None else exchange.due(self, buffer, timeout):
            await self._write(exchange, data, timeout)

    async def _write(self, exchange: Exchange | None, data: bytes | memoryview, timeout: float | None) -> None:
        call = None if exchange is None or not data else exchange.timing(self)
        if call is None:
            await self._stream.write(data, timeout)
        else:
            call.before_write()
            await self._stream.write(data, timeout)
            call.bytes_sent += len(data)
            call.writes += 1

    async def flush(self, exchange: Exchange) -> None:
        """Write what is held."""
        data = exchange.overdue(self)
        if data:
            try:
                await self._write(exchange, data, exchange.timeout)
            except Exception as error:
                if not self._is_write_error(error):
                    raise

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        exchange = current.get()
        if exchange is None:
            return await self._stream.read(max_bytes, timeout)  # type: ignore[no-any-return]
        await self.flush(exchange)
        call = exchange.timing(self)
        if call is not None:
            call.sent()
        data: bytes = await self._stream.read(max_bytes, timeout)
        if call is not None:
            exchange.received(data)
        return data

    async def aclose(self) -> None:
        """Close. What is held is sent first, as httpcore would have sent it before the error that closes."""
        exchange = current.get()
        try:
            if exchange is not None and (data := exchange.overdue(self)):
                await self._write(exchange, data, exchange.timeout)
        except Exception:  # the error that closes the connection is the one to raise
            pass
        finally:
            await self._stream.aclose()

    async def start_tls(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the same over TLS."""
        return type(self)(await self._stream.start_tls(*args, **kwargs), self.connection)


class _Wrapping:
    """What both kinds of backend share."""

    def __init__(self, below: typing.Any, settings: typing.Callable[[], Settings], stream: type) -> None:
        self.below = below
        self.settings = settings
        self._stream = stream

    def _sets_nodelay(self, kwargs: dict[str, typing.Any]) -> bool:
        """Return whether to set TCP_NODELAY: not where the user's socket options name it."""
        options = kwargs.get("socket_options")
        if options is not None:
            kwargs["socket_options"] = options = list(options)  # an iterator can be read once
        return self.settings().options.nodelay and not nodelay.named_by(options)

    def _wrapped(self, stream: typing.Any, sets_nodelay: bool) -> typing.Any:
        if sets_nodelay:  # a user's own backend may set no option
            nodelay.ensure(stream.get_extra_info("socket"))
        return self._stream(stream, Connection(None))

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.below, name)


class Backend(_Wrapping):
    """A blocking backend (httpcore's NetworkBackend)."""

    def connect_tcp(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        wanted = self._sets_nodelay(kwargs)
        return self._wrapped(self.below.connect_tcp(*args, **kwargs), wanted)

    def connect_unix_socket(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return self._wrapped(self.below.connect_unix_socket(*args, **kwargs), False)

    def sleep(self, seconds: float) -> None:
        """As the backend below."""
        self.below.sleep(seconds)


class AsyncBackend(_Wrapping):
    """A backend of asyncio or trio (httpcore's AsyncNetworkBackend)."""

    async def connect_tcp(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        wanted = self._sets_nodelay(kwargs)
        return self._wrapped(await self.below.connect_tcp(*args, **kwargs), wanted)

    async def connect_unix_socket(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Connect as the backend below does."""
        return self._wrapped(await self.below.connect_unix_socket(*args, **kwargs), False)

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
