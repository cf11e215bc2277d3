"""Network backends around those of a pool: TCP_NODELAY is on, and heads wait for their bodies."""

from __future__ import annotations

import typing

from .._config import Options
from .._timing.connection import Link
from .._wire import nodelay
from .stream import AsyncStream, Stream


class Around:
    """What both kinds share."""

    def __init__(self, below: typing.Any, options: Options, installed: bool = False) -> None:
        self.below = below
        #: Whether install() has put it there, and not a class of our own.
        self.installed = installed
        self._nodelay = not options.nodelay_disabled
        self._limit = 0 if options.coalesce_disabled else options.coalesce_max

    def _asks(self, arguments: dict[str, typing.Any]) -> bool:
        """Whether TCP_NODELAY is to be seen to: a user who names it is obeyed as httpcore obeys."""
        options = arguments.get("socket_options")
        if options is not None:
            arguments["socket_options"] = options = list(options)  # an iterator is gone once looked at
        return self._nodelay and not nodelay.named_by(options)


class Backend(Around):
    """A blocking backend (httpcore's NetworkBackend)."""

    def connect_tcp(self, **arguments: typing.Any) -> Stream:
        """Connect as the backend below does."""
        asks = self._asks(arguments)
        stream = self.below.connect_tcp(**arguments)
        if asks:  # a backend of a user's own may set no option
            nodelay.ensure(stream.get_extra_info("socket"))
        return Stream(stream, self._limit, Link(None))

    def connect_unix_socket(self, **arguments: typing.Any) -> Stream:
        """Connect as the backend below does."""
        return Stream(self.below.connect_unix_socket(**arguments), self._limit, Link(None))

    def sleep(self, seconds: float) -> None:
        """As the backend below."""
        self.below.sleep(seconds)


class AsyncBackend(Around):
    """A backend of asyncio or trio (httpcore's AsyncNetworkBackend)."""

    async def connect_tcp(self, **arguments: typing.Any) -> AsyncStream:
        """Connect as the backend below does."""
        asks = self._asks(arguments)
        stream = await self.below.connect_tcp(**arguments)
        if asks:
            nodelay.ensure(stream.get_extra_info("socket"))
        return AsyncStream(stream, self._limit, Link(None))

    async def connect_unix_socket(self, **arguments: typing.Any) -> AsyncStream:
        """Connect as the backend below does."""
        return AsyncStream(await self.below.connect_unix_socket(**arguments), self._limit, Link(None))

    async def sleep(self, seconds: float) -> None:
        """As the backend below."""
        await self.below.sleep(seconds)
