"""Network backends that wrap those of a pool: they set TCP_NODELAY, and their streams join head and body."""

from __future__ import annotations

import typing

from .._config import Options
from .._timing.connection import Connection
from .._wire import nodelay
from .stream import AsyncStream, Stream


class WrappedBackend:
    """What both kinds share."""

    def __init__(self, below: typing.Any, options: Options, installed: bool = False) -> None:
        self.below = below
        #: Whether it was put there by install(), not by an own class.
        self.installed = installed
        self._nodelay = not options.nodelay_disabled
        self._limit = 0 if options.coalesce_disabled else options.coalesce_max

    def _sets_nodelay(self, arguments: dict[str, typing.Any]) -> bool:
        """Whether to set TCP_NODELAY: not where the user's socket options name it."""
        options = arguments.get("socket_options")
        if options is not None:
            arguments["socket_options"] = options = list(options)  # an iterator can be read once
        return self._nodelay and not nodelay.named_by(options)


class Backend(WrappedBackend):
    """A blocking backend (httpcore's NetworkBackend)."""

    def connect_tcp(self, **arguments: typing.Any) -> Stream:
        """Connect as the backend below does."""
        wanted = self._sets_nodelay(arguments)
        stream = self.below.connect_tcp(**arguments)
        if wanted:  # a user's own backend may set no option
            nodelay.ensure(stream.get_extra_info("socket"))
        return Stream(stream, self._limit, Connection(None))

    def connect_unix_socket(self, **arguments: typing.Any) -> Stream:
        """Connect as the backend below does."""
        return Stream(self.below.connect_unix_socket(**arguments), self._limit, Connection(None))

    def sleep(self, seconds: float) -> None:
        """As the backend below."""
        self.below.sleep(seconds)


class AsyncBackend(WrappedBackend):
    """A backend of asyncio or trio (httpcore's AsyncNetworkBackend)."""

    async def connect_tcp(self, **arguments: typing.Any) -> AsyncStream:
        """Connect as the backend below does."""
        wanted = self._sets_nodelay(arguments)
        stream = await self.below.connect_tcp(**arguments)
        if wanted:
            nodelay.ensure(stream.get_extra_info("socket"))
        return AsyncStream(stream, self._limit, Connection(None))

    async def connect_unix_socket(self, **arguments: typing.Any) -> AsyncStream:
        """Connect as the backend below does."""
        return AsyncStream(await self.below.connect_unix_socket(**arguments), self._limit, Connection(None))

    async def sleep(self, seconds: float) -> None:
        """As the backend below."""
        await self.below.sleep(seconds)
