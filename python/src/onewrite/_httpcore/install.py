"""install() and uninstall() for the pools of httpcore and httpcore2 in this process.

SDKs build their clients themselves, so the pools' own class is patched: its constructor and ``handle_request``. A
pool that exists already keeps its backend and is left alone.
"""

from __future__ import annotations

import functools
import importlib
import threading
import typing

from .. import _config
from .._install import further
from .._urllib3 import originals
from . import seam
from .backend import AsyncBackend, Backend

_lock = threading.Lock()
#: Settings of pools that are made from now on; None while not installed.
_given: seam.Settings | None = None
#: Class, name, what the class had, what is there in its place.
_replaced: list[tuple[type, str, typing.Any, typing.Any]] = []


def _constructor(original: typing.Any, kind: typing.Any) -> typing.Any:
    # A pool gets its backend here and nowhere else; the classes for proxies call it, too. Own classes have theirs.
    @functools.wraps(original)
    def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:  # noqa: N807
        original.__get__(self, type(self))(*args, **kwargs)
        if _given is not None and not hasattr(self, "_onewrite"):
            seam.adopt(self, kind, _given.options, installed=True)

    return __init__


def _given_to(pool: typing.Any) -> seam.Settings | None:
    """The settings for *pool*; None if it was made before install() or is of an own class."""
    return _given if getattr(getattr(pool, "_network_backend", None), "installed", False) else None


def _handle(original: typing.Any) -> typing.Any:
    # Why this method: it alone gets the request with its body, and all of it is written before it returns.
    @functools.wraps(original)
    def handle_request(self: typing.Any, request: typing.Any) -> typing.Any:
        return seam.handle(original.__get__(self, type(self)), request, _given_to(self))

    return handle_request


def _handle_async(original: typing.Any) -> typing.Any:
    # As above.
    @functools.wraps(original)
    async def handle_async_request(self: typing.Any, request: typing.Any) -> typing.Any:
        return await seam.handle_async(original.__get__(self, type(self)), request, _given_to(self))

    return handle_async_request


def _patches() -> typing.Iterator[tuple[type, str, typing.Callable[[typing.Any], typing.Any]]]:
    for name in ("httpcore", "httpcore2"):
        try:
            core = importlib.import_module(name)
        except ImportError:
            continue
        yield core.ConnectionPool, "__init__", functools.partial(_constructor, kind=Backend)
        yield core.ConnectionPool, "handle_request", _handle
        yield core.AsyncConnectionPool, "__init__", functools.partial(_constructor, kind=AsyncBackend)
        yield core.AsyncConnectionPool, "handle_async_request", _handle_async


def install(*, on_timing: typing.Any = None, listener: typing.Any = None, **options: typing.Any) -> None:
    """Make every client of httpx and httpx2 made from now on send a request in one write, with TCP_NODELAY on.

    Called again it changes hooks and options. With ``ONEWRITE_DISABLED=true`` it does nothing. Takes what
    :func:`onewrite.install` takes, and raises what that raises.
    """
    global _given
    given = seam.settings(on_timing, listener, options)
    if options:
        raise TypeError(f"install() takes no {sorted(options)}; it takes {sorted(_config.NAMES)}")
    if given.options.disabled:
        return
    with _lock:
        present = {(owner, name) for owner, name, *_ in _replaced}
        for owner, name, wrap in _patches():
            if (owner, name) not in present:
                own = owner.__dict__[name]
                ours = wrap(own)
                _replaced.append((owner, name, own, ours))
                setattr(owner, name, ours)
        _given = given


def _methods() -> dict[str, dict[str, typing.Any]]:
    """What is patched, and who has wrapped it since, for :func:`onewrite.status`."""
    return {
        f"{owner.__module__}.{owner.__name__}.{name}": {
            "state": "stock" if _given is None else "patched",
            "wrapped_by": [
                by
                for by in originals.wrappers(owner.__dict__.get(name))
                if not by.startswith(("onewrite.", "httpcore"))
            ],
        }
        for owner, name, *_ in _replaced
    }


further.append(_methods)


def uninstall() -> None:
    """Put httpcore's own methods back. Clients made in between stay open, and write as httpcore does.

    A method that someone has wrapped since stays in place, with onewrite's inside doing nothing; the log names them.
    """
    global _given
    with _lock:
        _given = None
        left = [one for one in _replaced if one[0].__dict__.get(one[1]) is not one[3]]
        for owner, name, own, _ in _replaced:
            if (owner, name) not in {one[:2] for one in left}:
                setattr(owner, name, own)
        _replaced[:] = left
    if left:
        names = ", ".join(f"{owner.__name__}.{name}" for owner, name, *_ in left)
        _config.log.warning("uninstall: %s: wrapped by someone else since install(), left in place, idle", names)
