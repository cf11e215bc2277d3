"""In front of httpcore's pools: their streams send in one write, and their requests are timed."""

from __future__ import annotations

import typing

from .._front import Front, put
from .._settings import Installations, Settings, take
from .._timing.hooks import both
from .._timing.record import Call, now
from .base import PAIRS, streams
from .exchange import Exchange, current, subscribed, trace, trace_async
from .stream import _Wrapping, backend_class

if typing.TYPE_CHECKING:  # httpcore2 has the same interface
    import httpcore

#: What holds for pools that are made from now on.
installations = Installations()


class _Pool(Front):
    """What both kinds of pool share."""

    #: What an own pool was given; None: what install() says.
    _onewrite_given: Settings | None = None
    _onewrite_core = "httpcore"

    def _onewrite_begin(self, request: httpcore.Request) -> Exchange | None:
        """Return the exchange of *request*; None where it is left alone."""
        given = self._onewrite_given
        options = installations.in_force if given is None else given.options
        hooks = installations.hooks if given is None else both(given.hooks, installations.hooks)
        limit = options.limit
        if not limit and hooks is None:
            return None
        return Exchange(request, limit, hooks, streams(self._onewrite_core))


class Pool(_Pool):
    """Stands in front of a blocking pool's class."""

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request: see httpcore."""
        exchange = self._onewrite_begin(request)
        if exchange is None:
            return super().handle_request(request)  # type: ignore[misc, no-any-return]
        outer = current.get()
        extensions = request.extensions
        current.set(exchange)
        try:
            request.extensions = subscribed(exchange, extensions, trace)
            response = super().handle_request(request)  # type: ignore[misc]
            if exchange.held and exchange.stream is not None:  # h11 had the answer before the request was sent
                exchange.stream.flush(exchange)
        except BaseException as error:
            exchange.failed(error)
            raise
        finally:
            request.extensions = extensions
            current.set(outer)
        exchange.answered(response, Body)
        return response  # type: ignore[no-any-return]


class AsyncPool(_Pool):
    """Stands in front of the class of a pool for asyncio and trio."""

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request: see httpcore."""
        exchange = self._onewrite_begin(request)
        if exchange is None:
            return await super().handle_async_request(request)  # type: ignore[misc, no-any-return]
        outer = current.get()
        extensions = request.extensions
        current.set(exchange)
        try:
            request.extensions = subscribed(exchange, extensions, trace_async)
            response = await super().handle_async_request(request)  # type: ignore[misc]
            if exchange.held and exchange.stream is not None:  # h11 had the answer before the request was sent
                await exchange.stream.flush(exchange)
        except BaseException as error:
            exchange.failed(error)
            raise
        finally:
            request.extensions = extensions
            current.set(outer)  # no reset(token): a coroutine may be closed in another context
        exchange.answered(response, AsyncBody)
        return response  # type: ignore[no-any-return]


class _Body(Front):
    """What both kinds of response body share."""

    _onewrite_call: Call | None = None

    def _onewrite_failed(self, error: BaseException) -> None:
        call, self._onewrite_call = self._onewrite_call, None
        if call is not None and not call.ended_at_mono_ns:
            call.fail(error)

    def __del__(self) -> None:
        call = self._onewrite_call
        if call is not None and not call.ended_at_mono_ns:
            call.abandon()

    def _onewrite_closed(self) -> None:
        call, self._onewrite_call = self._onewrite_call, None
        if call is not None and not call.ended_at_mono_ns:
            connection = call.connection
            if connection is not None:
                connection.idle_since = t_ns = now()
                call.freed_ns, call.reusable = (
                    t_ns,
                    bool(call.response_end) and getattr(connection.sock, "fileno", int)() >= 0,
                )
            call.finish()


class Body(_Body):
    """Stands in front of the class of a response's body: the call ends with its reader."""

    def __iter__(self) -> typing.Iterator[bytes]:
        below = super().__iter__()  # type: ignore[misc]
        call = self._onewrite_call
        if call is None:
            yield from below
            return
        size = 0
        try:
            while True:
                call.reading = True
                try:
                    part = next(below)
                except StopIteration:
                    break
                except BaseException as error:
                    self._onewrite_failed(error)
                    raise
                call.reading = False
                size += len(part)
                yield part
        finally:
            # Also where this generator is freed: no hook is called then.
            call.reading = True
            getattr(below, "close", int)()
            call.reading = False
        if not call.ended_at_mono_ns:
            call.body_read(now(), size)

    def close(self) -> None:
        """Close: see httpcore."""
        try:
            getattr(super(), "close", int)()
        finally:
            if self._onewrite_call is not None and not self._onewrite_call.reading:
                self._onewrite_closed()


class AsyncBody(_Body):
    """The same for asyncio and trio."""

    async def __aiter__(self) -> typing.AsyncIterator[bytes]:
        below = super().__aiter__()  # type: ignore[misc]
        call = self._onewrite_call
        size = 0
        while True:
            if call is not None:
                call.reading = True
            try:
                part = await below.__anext__()
            except StopAsyncIteration:
                break
            except BaseException as error:
                self._onewrite_failed(error)
                raise
            finally:
                if call is not None:
                    call.reading = False
            size += len(part)
            yield part
        if call is not None and not call.ended_at_mono_ns:
            call.body_read(now(), size)

    async def aclose(self) -> None:
        """Close: see httpcore."""
        try:
            below = getattr(super(), "aclose", None)
            if below is not None:
                await below()
        finally:  # a task may be cancelled there
            if self._onewrite_call is not None and not self._onewrite_call.reading:
                self._onewrite_closed()


def adopt(pool: typing.Any, front: type[_Pool], given: Settings | None = None) -> None:
    """Put *front* before the class of *pool*, and wrap its network backend.

    The backend's attribute is private. That cannot be avoided: an asynchronous pool that is given no backend chooses
    one itself.
    """
    core = next((name for cls in type(pool).__mro__ if (name := cls.__module__.partition(".")[0]) in PAIRS), "httpcore")
    streams(core)  # raises where a private name is missing
    if (given is not None and given.options.disabled) or not put(front, pool):
        return
    pool._onewrite_given = given
    pool._onewrite_core = core
    backend = pool._network_backend
    if isinstance(backend, _Wrapping):
        backend = backend.below
    settings = _installed if given is None else lambda: given
    pool._network_backend = backend_class(core, front is AsyncPool)(backend, settings)


def _installed() -> Settings:
    return Settings(installations.in_force, None)


class _Own:
    """Mixin of own transports and pools."""

    _onewrite_front: typing.ClassVar[type[_Pool]]

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        given = take(kwargs)
        super().__init__(*args, **kwargs)
        adopt(getattr(self, "_pool", self), self._onewrite_front, given)  # httpx makes the pool of a transport itself


class Blocking(_Own):
    """Mixin of own blocking transports and pools."""

    _onewrite_front = Pool


class Asynchronous(_Own):
    """Mixin of own transports and pools for asyncio and trio."""

    _onewrite_front = AsyncPool
