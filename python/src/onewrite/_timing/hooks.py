"""The hooks of a user: checked when they are given, called with their own errors swallowed."""

from __future__ import annotations

import collections
import functools
import inspect
import logging
import os
import sys
import types
import typing

from . import events
from .events import Listener

log = logging.getLogger("onewrite")

Hook = typing.Callable[[typing.Any], object]


class Hooks:
    """What a call reports to. Made once, looked up at the start of each call."""

    __slots__ = ("_beside", "listener", "on_timing", "sources")

    def __init__(self, sources: tuple[tuple[Hook | None, typing.Any], ...]) -> None:
        """*sources* are pairs of an on_timing and a listener, either of which may be None."""
        self.sources = sources
        self.on_timing = tuple(hook for hook, _ in sources if hook is not None)
        self.listener: Listener | None = None
        self._beside: tuple[Hooks, Hooks] | None = None
        for _, listener in sources:
            if listener is not None:
                methods: Listener = self.listener or {}
                for name, more in events.methods_of(listener).items():
                    methods[name] = methods.get(name, ()) + more
                self.listener = methods or None

    def count(self) -> int:
        """Return how many there are: callbacks and listeners."""
        return sum(hook is not None for source in self.sources for hook in source)

    def beside(self, other: Hooks) -> Hooks:
        """Return hooks that call these and *other*."""
        found = self._beside  # read and set at once: threads share it
        if found is None or found[0] is not other:
            found = self._beside = other, Hooks(other.sources + self.sources)
        return found[1]

    def without(self, running: tuple[Hook, ...]) -> Hooks:
        """Return the hooks but for those of *running*: a hook is not called for a request that it makes itself."""
        called = set(map(_identity, running))
        owners = {id(hook.__self__) for hook in running if type(hook) is types.MethodType}
        return Hooks(
            tuple(
                (None if _identity(hook) in called else hook, None if id(listener) in owners else listener)
                for hook, listener in self.sources
            )
        )


def _identity(hook: object) -> object:
    """Return what makes *hook* the same as another: each look-up of a method makes an object, and == is the user's."""
    return (id(hook.__self__), id(hook.__func__)) if type(hook) is types.MethodType else id(hook)


def make_hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """Return the hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called, is a coroutine function or no listener: errors of hooks are swallowed
    later.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    _refuse_coroutine_function("on_timing", on_timing)
    if listener is not None:
        if not callable(getattr(listener, "on_event", None)):
            raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
        for name in ("on_event", *events._METHODS):
            _refuse_coroutine_function(name, getattr(listener, name, None))
    if disabled or (on_timing is None and (listener is None or not events.methods_of(listener))):
        return None
    return Hooks(((on_timing, listener),))


def _refuse_coroutine_function(name: str, hook: typing.Any) -> None:
    while isinstance(hook, functools.partial):
        hook = hook.func
    call = getattr(type(hook), "__call__", None)  # noqa: B004 - the method itself is inspected
    if inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(call):
        raise TypeError(
            f"{name} is a coroutine function, and hooks are called, not awaited: give a plain function; "
            "it may hand the record on, for example with asyncio.Queue.put_nowait"
        )


_failures = 0


def hook_failures() -> int:
    """Return how many times a timing hook of this process raised."""
    return _failures


def swallow(hook: Hook, error: BaseException) -> None:
    """Count *error*, which *hook* raised, and log the first; raise what stops a thread, task or process.

    asyncio's CancelledError is no Exception, but nothing cancels a task while its synchronous code runs.
    """
    global _failures
    if not isinstance(error, Exception):
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or not isinstance(error, asyncio.CancelledError):
            raise error
    _failures += 1
    if _failures == 1:
        try:
            log.warning("a timing hook raised and is ignored, as all later ones will be: %r", hook, exc_info=error)
        except Exception:  # a log handler that raises
            return


def refuse_coroutine(hook: Hook, returned: object) -> None:
    """Count what *hook* has *returned* as its error, if that is a coroutine."""
    if inspect.iscoroutine(returned):
        returned.close()
        swallow(hook, TypeError("a hook returned a coroutine, which nobody awaits"))


#: Calls that a finalizer ended, and the process in which it ran. No hook is called in a finalizer: a hook may take a
#: lock that the interrupted program holds. The next call, on whatever thread, ends them.
pending: collections.deque[tuple[int, typing.Any]] = collections.deque()


def drain() -> None:
    """End the calls that are pending; those of the parent of this process are the parent's."""
    while pending:
        try:
            process, ended = pending.popleft()
        except IndexError:  # another thread was faster
            return
        if process == os.getpid():
            ended.end()
