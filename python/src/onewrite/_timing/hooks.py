"""The hooks of a user: checked where they are given, the same for the length of a call."""

from __future__ import annotations

import typing

from . import events
from .events import Told


class Hooks(typing.NamedTuple):
    """What a call reports to; made once, looked up at the start of each call."""

    on_timing: typing.Any
    listener: Told | None


def make_hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """The hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called or is no listener: better now than never heard of again.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    if listener is not None and not callable(getattr(listener, "on_event", None)):
        raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
    told = events.told(listener) if listener is not None else None
    if disabled or (on_timing is None and not told):
        return None
    return Hooks(on_timing, told or None)
