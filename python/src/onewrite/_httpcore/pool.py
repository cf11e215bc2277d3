"""In front of httpcore's pools: their streams send in one write, and their requests are timed."""

from __future__ import annotations

import typing

from .. import _config
from .._front import Front, put
from .._settings import Installations, Settings, hooks_of, take
from .._timing.record import Call, now
from .._timing.record import take as take_call
from .base import PAIRS, probe, proxy_of, streams
from .exchange import Exchange, current
from .stream import Steps, _Wrapping, backend_class, go, go_async

if typing.TYPE_CHECKING:  # httpcore2 has the same interface
    import httpcore

#: What holds for pools that are made from now on.
installations = Installations()


class _Pool(Front):
    """Stands in front of a pool's class."""

    #: What an own pool was given; None: what install() says.
    _onewrite_given: Settings | None = None
    _onewrite_core = "httpcore"

    def _onewrite_begin(self, request: typing.Any) -> Exchange | None:
        """Return the exchange of *request*; None where it is left alone, as what httpcore refuses is."""
        given = self._onewrite_given
        options = installations.in_force if given is None else given.options
        hooks = hooks_of(given, installations)
        limit = options.limit
        if not limit and hooks is None:
            return None
        try:
            exchange = Exchange(request, limit, hooks, streams(self._onewrite_core), proxy_of(self) if hooks else None)
        except (AttributeError, TypeError):
            return None
        if exchange.call is not None:
            exchange.call.start()
        return exchange

    def _onewrite_handle(self, args: typing.Any, kwargs: typing.Any, handle: typing.Any, body: type) -> Steps:
        request = args[0] if args else kwargs.get("request")
        exchange = self._onewrite_begin(request)
        outer = current.get()
        current.set(exchange)
        try:
            if exchange is None:
                return (yield handle(*args, **kwargs))
            response = yield handle(*args, **kwargs)
            if exchange.held and exchange.stream is not None:  # h11 had the answer before the request was sent
                yield from exchange.stream.rest(exchange)
        except BaseException as error:
            if exchange is not None:
                exchange.failed(error)
            raise
        finally:
            current.set(outer)  # no reset(token): a coroutine may be closed in another context
        try:
            exchange.answered(request, response, body, "__aiter__" if body is AsyncBody else "__iter__")
        except BaseException:  # a hook's KeyboardInterrupt: nobody gets the response
            yield response.aclose() if body is AsyncBody else response.close()
            raise
        return response


class Pool(_Pool):
    """Stands in front of a blocking pool's class."""

    def handle_request(self, *args: typing.Any, **kwargs: typing.Any) -> httpcore.Response:
        """Send a request: see httpcore."""
        below: typing.Any = super()
        return self._onewrite_request(args, kwargs, below.handle_request)

    def _onewrite_request(self, args: typing.Any, kwargs: typing.Any, handle: typing.Any) -> httpcore.Response:
        return go(self._onewrite_handle(args, kwargs, handle, Body))  # type: ignore[no-any-return]


class AsyncPool(_Pool):
    """Stands in front of the class of a pool for asyncio and trio."""

    async def handle_async_request(self, *args: typing.Any, **kwargs: typing.Any) -> httpcore.Response:
        """Send a request: see httpcore."""
        below: typing.Any = super()
        return await self._onewrite_request(args, kwargs, below.handle_async_request)

    async def _onewrite_request(self, args: typing.Any, kwargs: typing.Any, handle: typing.Any) -> httpcore.Response:
        steps = self._onewrite_handle(args, kwargs, handle, AsyncBody)
        return await go_async(steps)  # type: ignore[no-any-return]


class _Body(Front):
    """Stands in front of the class of a response's body: the call ends with its reader."""

    _onewrite: Call | None = None
    _onewrite_size = 0

    def _onewrite_end(self, error: BaseException | None = None) -> None:
        call = take_call(self)
        if call is None:
            return
        connection = call.connection
        if connection is not None and error is None:
            connection.idle_since = call.freed_ns = call.response_end or now()
            call.reusable = bool(call.response_end) and getattr(connection.sock, "fileno", int)() >= 0
        call.end(error)

    def _onewrite_read(self) -> None:
        """The reader got all of the body."""
        call = take_call(self)
        if call is not None:
            call.body_read(now(), self._onewrite_size)
            self._onewrite = call

    def __del__(self) -> None:
        call: Call | None = self.__dict__.pop("_onewrite", None)
        if call is not None:
            call.abandon()
        getattr(super(), "__del__", int)()


class Body(_Body):
    """Stands in front of the class of a blocking response's body."""

    def __iter__(self) -> typing.Iterator[bytes]:
        below = super().__iter__()  # type: ignore[misc]
        call = self._onewrite
        if call is None:
            yield from below
            return
        try:
            while True:
                call.reading = True
                try:
                    part = next(below)
                except StopIteration:
                    break
                except BaseException as error:
                    self._onewrite_end(error)
                    raise
                call.reading = False
                self._onewrite_size += len(part)
                yield part
        finally:
            # Also where this generator is freed: no hook is called then.
            call.reading = True
            getattr(below, "close", int)()
            call.reading = False
        self._onewrite_read()

    def close(self) -> None:
        """Close: see httpcore."""
        try:
            getattr(super(), "close", int)()
        finally:
            call = self._onewrite
            if call is not None and not call.reading:
                self._onewrite_end()


class AsyncBody(_Body):
    """Stands in front of the class of a response's body for asyncio and trio."""

    async def __aiter__(self) -> typing.AsyncIterator[bytes]:
        below = super().__aiter__()  # type: ignore[misc]
        call = self._onewrite
        if call is None:
            async for part in below:
                yield part
            return
        try:
            while True:
                call.reading = True
                try:
                    part = await below.__anext__()
                except StopAsyncIteration:
                    break
                except BaseException as error:
                    self._onewrite_end(error)
                    raise
                call.reading = False
                self._onewrite_size += len(part)
                yield part
        finally:
            call.reading = True
            if hasattr(below, "aclose"):
                await below.aclose()
            call.reading = False
        self._onewrite_read()

    async def aclose(self) -> None:
        """Close: see httpcore."""
        try:
            below = getattr(super(), "aclose", None)
            if below is not None:
                await below()
        finally:  # a task may be cancelled there
            call = self._onewrite
            if call is not None and not call.reading:
                self._onewrite_end()


def adopt(pool: typing.Any, front: type[_Pool], given: Settings | None = None) -> bool:
    """Put *front* before the class of *pool*, and wrap its network backend; return whether that can be.

    The backend's attribute is private. That cannot be avoided: an asynchronous pool that is given no backend chooses
    one itself.
    """
    core = next((name for cls in type(pool).__mro__ if (name := cls.__module__.partition(".")[0]) in PAIRS), "httpcore")
    streams(core)  # raises where a private name is missing
    if not put(front, pool):
        return False
    pool._onewrite_given = given
    pool._onewrite_core = core
    backend = pool._network_backend
    if isinstance(backend, _Wrapping):
        backend = backend.below
    wrapped = backend_class(core, front is AsyncPool)
    pool._network_backend = wrapped(backend, lambda: installations.in_force if given is None else given.options)
    return True


class _Own:
    """Mixin of own transports and pools."""

    _onewrite_front: typing.ClassVar[type[_Pool]]

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        given = take(kwargs)
        super().__init__(*args, **kwargs)
        if _config.DEFAULTS.disabled:
            return
        # httpx makes the pool of a transport itself.
        pool = self if hasattr(self, "_network_backend") else probe(self, "_pool")._pool
        adopt(pool, self._onewrite_front, given)


class Blocking(_Own):
    """Mixin of own blocking transports and pools."""

    _onewrite_front = Pool


class Asynchronous(_Own):
    """Mixin of own transports and pools for asyncio and trio."""

    _onewrite_front = AsyncPool
