"""The hooks of a user: checked where they are given, the same for the length of a call."""

from __future__ import annotations

import typing


class Hooks:
    """What a pool reports to; made once, looked up at the start of each call."""

    __slots__ = ("listener", "on_timing")

    def __init__(self, on_timing: typing.Any, listener: typing.Any) -> None:
        self.on_timing = on_timing
        self.listener = listener


def make_hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """The hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called or is no listener: better now than never heard of again.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    if listener is not None and not callable(getattr(listener, "on_event", None)):
        raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
    if disabled or (on_timing is None and listener is None):
        return None
    return Hooks(on_timing, listener)
