"""The hooks of a user: checked where they are given, the same for the length of a call."""

from __future__ import annotations

import typing

from . import events
from .events import Listener


class Hooks(typing.NamedTuple):
    """What a call reports to; made once, looked up at the start of each call."""

    on_timing: tuple[typing.Callable[[typing.Any], object], ...]
    listener: Listener | None


def make_hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """Return the hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called or is no listener: errors of hooks are swallowed later.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    if listener is not None and not callable(getattr(listener, "on_event", None)):
        raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
    methods = None if listener is None else events.methods_of(listener)
    if disabled or (on_timing is None and not methods):
        return None
    return Hooks(() if on_timing is None else (on_timing,), methods or None)


def combined(several: typing.Iterable[Hooks]) -> Hooks | None:
    """Return hooks that call all of *several*, in their order; None for none."""
    hooks = list(several)
    if len(hooks) < 2:
        return hooks[0] if hooks else None
    methods: Listener = {}
    for one in hooks:
        for name, more in (one.listener or {}).items():
            methods[name] = methods.get(name, ()) + more
    return Hooks(tuple(hook for one in hooks for hook in one.on_timing), methods or None)
