"""install() and uninstall() for the pools of httpcore and httpcore2 in this process.

SDKs build their clients themselves, perhaps before install(). So the method of the pools that handles a request is
replaced: each pool gets a class with onewrite's in front of its own at its next request. Connections that are open
already stay as they are.
"""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    import httpcore
    from typing_extensions import Unpack

from .._config import DEFAULTS
from .._front import Places
from .._settings import Arguments, Installation
from . import base
from .pool import AsyncPool, Pool, adopt, installations

__all__ = ["install", "installations", "places", "uninstall"]


def _reached(self: typing.Any, front: type[Pool] | type[AsyncPool]) -> bool:
    """Put *front* before the class of a pool; return whether this request came before it."""
    return installations.active and not isinstance(self, front) and adopt(self, front)


def _blocking(below: typing.Any) -> typing.Any:
    def handle_request(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> httpcore.Response:
        handle = below.__get__(self, type(self))
        if _reached(self, Pool):
            return self._onewrite_request(args, kwargs, handle)  # type: ignore[no-any-return]
        return handle(*args, **kwargs)  # type: ignore[no-any-return]

    return handle_request


def _asynchronous(below: typing.Any) -> typing.Any:
    async def handle_async_request(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> httpcore.Response:
        handle = below.__get__(self, type(self))
        if _reached(self, AsyncPool):
            return await self._onewrite_request(args, kwargs, handle)  # type: ignore[no-any-return]
        return await handle(*args, **kwargs)  # type: ignore[no-any-return]

    return handle_async_request


def places() -> Places:
    """Yield what install() replaces."""
    for core in base.cores():
        yield core.ConnectionPool, "handle_request", _blocking
        yield core.AsyncConnectionPool, "handle_async_request", _asynchronous


def install(**options: Unpack[Arguments]) -> Installation:
    """Make every client of httpx and httpx2 send a request in one write, with TCP_NODELAY on.

    Takes and returns what :func:`onewrite.install` takes and returns, and raises what that raises.
    """
    if not DEFAULTS.disabled:
        for core in base.cores():
            base.streams(core.__name__)
    return installations.install(options, places())


def uninstall() -> None:
    """Leave httpcore as it was. Clients used in between stay open, and write as httpcore does."""
    installations.uninstall(places())
