"""The hooks of a user: checked where they are given, the same for the length of a call."""

from __future__ import annotations

import typing

from . import _events
from ._events import Told


class Hooks:
    """What a pool reports to; made once, looked up at the start of each call."""

    __slots__ = ("installed", "listener", "on_timing", "tells_after", "tells_before", "tells_sent")

    def __init__(self, on_timing: typing.Any, listener: Told | None) -> None:
        self.on_timing = on_timing
        self.listener = listener
        #: Whether they are those of install(), not of a pool.
        self.installed = False
        # Of a request on an open connection, what a listener wants to hear: before it, when sent, and after.
        self.tells_before, self.tells_sent, self.tells_after = (
            {name: listener[name] for name in names if name in listener} if listener else {}
            for names in (_BEFORE, _SENT, _AFTER)
        )


_BEFORE = ("call_start", "attempt_start", "connection_acquired", "request_start")
_SENT = ("request_end",)
_AFTER = ("response_start", "headers_end", "response_end", "connection_released", "attempt_end", "call_end")


def make_hooks(on_timing: typing.Any, listener: typing.Any, disabled: bool) -> Hooks | None:
    """The hooks given, or None where there are none or they are switched off.

    Raises TypeError for what cannot be called or is no listener: better now than never heard of again.
    """
    if on_timing is not None and not callable(on_timing):
        raise TypeError(f"on_timing must be callable with one argument, the Timing; not {on_timing!r}")
    if listener is not None and not callable(getattr(listener, "on_event", None)):
        raise TypeError(f"listener must be a TimingListener; {listener!r} has no on_event method")
    told = _events.told(listener) if listener is not None else None
    if disabled or (on_timing is None and not told):
        return None
    return Hooks(on_timing, told or None)
