"""The wrapper around a pool's ``handle_request``, for own classes and for install()."""

from __future__ import annotations

import functools
import re
import typing
import weakref

from .. import _config
from .._errors import UnsupportedBaseError
from .._installations import Settings, take
from .._wire import body as bodies
from .backend import AsyncBackend, Backend, WrappedBackend
from .exchange import Exchange, current

if typing.TYPE_CHECKING:  # httpcore2 has the same interface
    import httpcore

_BASES = frozenset(("httpcore", "httpcore2", "httpx", "httpx2"))


def adopt(pool: typing.Any, kind: type[WrappedBackend], options: _config.Options, installed: bool = False) -> None:
    """Wrap the network backend of *pool* in one of *kind*.

    The attribute is private. It cannot be avoided: an asynchronous pool that is given no backend chooses one itself.
    """
    below = getattr(pool, "_network_backend", None)
    if below is None:
        raise UnsupportedBaseError(
            f"{type(pool).__qualname__} keeps its network backend where onewrite does not know"
        )
    if not options.disabled:
        pool._network_backend = kind(below.below if isinstance(below, WrappedBackend) else below, options, installed)


def _at_hand(stream: typing.Any) -> bool:
    """Whether every piece of a body can be read without blocking."""
    kind = type(stream)
    if kind.__module__.partition(".")[0] not in _BASES:
        return False
    if kind.__name__ == "ByteStream":
        return True
    if kind.__name__ == "MultipartStream":
        return all(bodies.kind(getattr(field, "file", b"")) != bodies.BLOCKING for field in stream.fields)
    # Wraps a file, a list or a generator; if it cannot be told which, it may block.
    source = getattr(stream, "_stream", iter(()))
    return kind.__name__ == "IteratorByteStream" and bodies.kind(source) != bodies.BLOCKING


#: Control characters that h11 lets pass and RFC 9110, 5.5 does not.
_control = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]").search


def _begun(request: httpcore.Request, given: Settings) -> Exchange:
    sized = coded = expects = empty = False
    wrong = ""
    for name, value in request.headers:
        lower = name.lower()
        sized = sized or lower == b"content-length"
        coded = coded or lower == b"transfer-encoding"
        expects = expects or lower == b"expect"
        if _control(value):
            wrong = f"the value of header {name!r} has a control character: remove it"
    if sized and coded:
        wrong = "both Content-Length and Transfer-Encoding are given: give at most one"
    at_hand = (sized or coded) and not expects and _at_hand(request.stream)
    if at_hand and type(request.stream).__name__ == "ByteStream":
        empty = not any(typing.cast(typing.Iterable[bytes], request.stream))
    return Exchange(request, at_hand and not empty, given.hooks, wrong)


class _Sending:
    """Names the request that a pool is handling, so that its stream knows whose bytes it writes."""

    __slots__ = ("_around", "_extensions", "_request", "exchange")

    def __init__(self, request: httpcore.Request, given: Settings) -> None:
        self._request = request
        self._extensions = request.extensions
        self._around = current.get()
        self.exchange = _begun(request, given)

    def __enter__(self) -> Exchange:
        current.set(self.exchange)
        return self.exchange

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is not None and self.exchange.attempt is not None:
                self.exchange.failed(error)
        finally:
            self._request.extensions = self._extensions
            current.set(self._around)  # no reset(token): a coroutine may be closed in another context

    def watch(self, trace: typing.Callable[..., typing.Any]) -> None:
        """Subscribe to httpcore's trace extension; a trace function of the user is still called."""
        heard = functools.partial(trace, self.exchange, self._extensions.get("trace"))
        self._request.extensions = {**self._extensions, "trace": heard}

    def answered(self, response: httpcore.Response, body: type[_Body | _AsyncBody]) -> httpcore.Response:
        """Watch for the end of the response's body."""
        response.stream = body(response.stream, self.exchange)
        self.exchange.answered(response)
        return response


def handle(
    send: typing.Callable[[httpcore.Request], httpcore.Response], request: httpcore.Request, given: Settings | None
) -> httpcore.Response:
    """Send *request* with *send*."""
    if given is None or given.options.disabled:
        return send(request)
    sending = _Sending(request, given)
    with sending as exchange:
        exchange.check(request)
        if exchange.attempt is None:
            return send(request)
        sending.watch(_trace)
        return sending.answered(send(request), _Body)


async def handle_async(
    send: typing.Callable[[httpcore.Request], typing.Awaitable[httpcore.Response]],
    request: httpcore.Request,
    given: Settings | None,
) -> httpcore.Response:
    """The same, awaited."""
    if given is None or given.options.disabled:
        return await send(request)
    sending = _Sending(request, given)
    with sending as exchange:
        exchange.check(request)
        if exchange.attempt is None:
            return await send(request)
        sending.watch(_trace_async)
        return sending.answered(await send(request), _AsyncBody)


def _trace(exchange: Exchange, users: typing.Any, name: str, info: dict[str, typing.Any]) -> typing.Any:
    exchange.trace(name, info)
    return users(name, info) if users is not None else None


async def _trace_async(exchange: Exchange, users: typing.Any, name: str, info: dict[str, typing.Any]) -> None:
    exchange.trace(name, info)
    if users is not None:
        await users(name, info)


class _Body:
    """The body of a response, which tells its exchange when it ends."""

    def __init__(self, stream: typing.Any, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    def __iter__(self) -> typing.Iterator[bytes]:
        size = 0
        try:
            for part in self._stream:
                size += len(part)
                yield part
        except GeneratorExit:
            raise  # the caller stopped reading
        except BaseException as error:
            self._exchange.failed(error)
            raise
        self._exchange.read(size)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._exchange.released()


class _AsyncBody:
    """The same for asyncio and trio."""

    def __init__(self, stream: typing.Any, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> typing.AsyncIterator[bytes]:
        size = 0
        try:
            async for part in self._stream:
                size += len(part)
                yield part
        except GeneratorExit:
            raise
        except BaseException as error:
            self._exchange.failed(error)
            raise
        self._exchange.read(size)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:  # a task may be cancelled there
            self._exchange.released()


class _OwnPool:
    """Mixin of own transports and pools."""

    _onewrite_backend: typing.ClassVar[type[WrappedBackend]]
    #: The pool's method that takes requests, and the function called in its place.
    _onewrite_method: typing.ClassVar[str]
    _onewrite_handled: typing.ClassVar[typing.Callable[..., typing.Any]]

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        given = take(kwargs)
        super().__init__(*args, **kwargs)
        # httpx makes the pool of a transport itself, and takes none.
        pool: typing.Any = getattr(self, "_pool", self)
        adopt(pool, self._onewrite_backend, given.options)
        setattr(
            pool, self._onewrite_method, functools.partial(type(self)._onewrite_handled, weakref.ref(pool), given)
        )


def _handled(pool: typing.Any, given: Settings, request: httpcore.Request) -> httpcore.Response:
    # The method is looked up each time: a mock may have patched the class since. The reference is weak, for the pool
    # holds the partial that holds it.
    return handle(functools.partial(type(pool()).handle_request, pool()), request, given)


async def _handled_async(pool: typing.Any, given: Settings, request: httpcore.Request) -> httpcore.Response:
    return await handle_async(functools.partial(type(pool()).handle_async_request, pool()), request, given)


class Blocking(_OwnPool):
    """Mixin of own blocking transports and pools."""

    _onewrite_backend = Backend
    _onewrite_method = "handle_request"
    _onewrite_handled = staticmethod(_handled)


class Asynchronous(_OwnPool):
    """Mixin of own transports and pools for asyncio and trio."""

    _onewrite_backend = AsyncBackend
    _onewrite_method = "handle_async_request"
    _onewrite_handled = staticmethod(_handled_async)
