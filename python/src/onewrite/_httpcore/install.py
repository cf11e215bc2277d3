"""install() and uninstall() for the pools of httpcore and httpcore2 in this process.

SDKs build their clients themselves, so the constructor of the pools is replaced: each pool made from then on gets a
class with onewrite's in front of its own. A pool that exists already is left alone.
"""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack

from .. import _front
from .._config import DEFAULTS
from .._settings import Given, Installation
from .._timing.events import TimingListener
from .._timing.hooks import drain
from . import base
from .pool import AsyncPool, Pool, adopt, installations

__all__ = ["install", "installations", "places", "uninstall"]


def places() -> list[tuple[type, str, typing.Callable[[typing.Any], typing.Any]]]:
    """Return what install() replaces."""
    blocking = _front.after_init(installations, lambda pool: adopt(pool, Pool))
    asynchronous = _front.after_init(installations, lambda pool: adopt(pool, AsyncPool))
    return [
        (owner, "__init__", make)
        for core in base.cores()
        for owner, make in ((core.ConnectionPool, blocking), (core.AsyncConnectionPool, asynchronous))
    ]


def install(*, listener: TimingListener | None = None, **options: Unpack[Given]) -> Installation:
    """Make every client of httpx and httpx2 made from now on send a request in one write, with TCP_NODELAY on.

    Takes and returns what :func:`onewrite.install` takes and returns, and raises what that raises.
    """
    if not DEFAULTS.disabled:
        for core in base.cores():
            base.streams(core.__name__)
    with installations.lock:
        installation = installations.add(listener=listener, **options)
        if installations.active:
            for owner, name, make in places():
                _front.place(owner, name, make)
    return installation


def uninstall() -> None:
    """Leave httpcore as it was. Clients made in between stay open, and write as httpcore does."""
    with installations.lock:
        if installations.active:
            installations.clear()
            for owner, name, _ in places():
                _front.put_back(owner, name)
    drain()
