"""install() and uninstall() for the pools of httpcore and httpcore2 in this process.

SDKs build their clients themselves, so the pools' own class is patched: its constructor and ``handle_request``. A
pool that exists already keeps its backend and is left alone.
"""

from __future__ import annotations

import importlib
import typing

from .. import _patches
from .._installations import Installation, Installations, Settings
from . import seam
from .backend import AsyncBackend, Backend

if typing.TYPE_CHECKING:
    import httpcore
    from typing_extensions import Unpack

    from .._keywords import Options

#: What holds for pools that are made from now on.
installations = Installations()


def _adopt_as(kind: type[Backend | AsyncBackend]) -> _patches.Function:
    # A pool gets its backend in its constructor only; the classes for proxies call it, too. Own classes have theirs.
    def construct(self: typing.Any, below: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
        below(*args, **kwargs)
        if installations.active and not hasattr(self, "_onewrite"):
            seam.adopt(self, kind, installations.options, installed=True)

    return construct


def _settings_of(pool: typing.Any) -> Settings | None:
    """Return the settings for *pool*; None if it was made before install() or is of an own class."""
    if installations.active and getattr(getattr(pool, "_network_backend", None), "installed", False):
        return Settings(installations.options, installations.hooks)
    return None


def _handle(self: typing.Any, below: typing.Any, request: httpcore.Request) -> httpcore.Response:
    # This method alone gets the request with its body, and all of it is written before it returns.
    return seam.handle(below, request, _settings_of(self))


async def _handle_async(self: typing.Any, below: typing.Any, request: httpcore.Request) -> httpcore.Response:
    # As above.
    return await seam.handle_async(below, request, _settings_of(self))


def _patched() -> typing.Iterator[tuple[type, str, _patches.Function]]:
    for name in ("httpcore", "httpcore2"):
        try:
            core = importlib.import_module(name)
        except ImportError:
            continue
        yield core.ConnectionPool, "__init__", _adopt_as(Backend)
        yield core.ConnectionPool, "handle_request", _handle
        yield core.AsyncConnectionPool, "__init__", _adopt_as(AsyncBackend)
        yield core.AsyncConnectionPool, "handle_async_request", _handle_async


def install(**options: Unpack[Options]) -> Installation:
    """Make every client of httpx and httpx2 made from now on send a request in one write, with TCP_NODELAY on.

    Takes and returns what :func:`onewrite.install` takes and returns, and raises what that raises.
    """
    with installations.lock:
        installation = installations.add(**options)
        if installations.active:
            for owner, name, function in _patched():
                _patches.place(owner, name, _patches.around(function), lambda: installations.active)
    return installation


def uninstall() -> None:
    """Leave httpcore as it was. Clients made in between stay open, and write as httpcore does."""
    with installations.lock:
        if installations.active:
            installations.clear()
            for owner, name, _ in _patched():
                _patches.put_back(owner, name)
