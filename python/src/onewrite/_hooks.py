"""Hooks: functions that get the record of each request, after its end."""

from __future__ import annotations

import contextvars
import inspect
import logging
import typing

log = logging.getLogger("onewrite")

#: The record of the request that this thread, greenlet or task is about to send, or BUSY within a hook. What a hook
#: starts in a copy of its context (a task, a greenlet, ``asyncio.to_thread``) is BUSY as well, so it makes no record.
current: contextvars.ContextVar[typing.Any] = contextvars.ContextVar("onewrite", default=None)
BUSY: typing.Final = object()

#: How many times a hook of this process has raised.
failures = 0


class Hook:
    """A user's function, and whether its first error was logged."""

    __slots__ = ("function", "has_failed")

    def __init__(self, function: typing.Any) -> None:
        """Raise TypeError for what would fail at each call, where errors are swallowed."""
        if not callable(function):
            raise TypeError(f"on_timing must be a function that takes a record, not {function!r}")
        for called in (function, getattr(function, "__call__", None)):  # noqa: B004 - the method, not whether there is one
            if inspect.iscoroutinefunction(called):
                raise TypeError("on_timing is called and not awaited: give a function that hands the record on")
        self.function = function
        self.has_failed = False


def added(hooks: tuple[Hook, ...], function: typing.Any) -> tuple[Hook, ...]:
    """Return *hooks* with *function*, once. None is no hook."""
    if function is None:
        return hooks
    hook = Hook(function)
    return hooks if any(known.function == function for known in hooks) else (*hooks, hook)


def removed(hooks: tuple[Hook, ...], function: typing.Any) -> tuple[Hook, ...]:
    """Return *hooks* without *function*."""
    return tuple(known for known in hooks if known.function != function)


def call(hooks: tuple[Hook, ...], record: typing.Any) -> None:
    """Call each hook with *record*.

    An Exception is swallowed and counted, and the first one of each hook is logged. What ends a thread, task or process
    (KeyboardInterrupt, CancelledError, gevent's Timeout) passes.
    """
    global failures
    token = current.set(BUSY)
    try:
        for hook in hooks:
            try:
                hook.function(record)
            except Exception:
                failures += 1
                if not hook.has_failed:
                    hook.has_failed = True
                    log.warning("%r raised; its later errors are only counted", hook.function, exc_info=True)
    finally:
        current.reset(token)
