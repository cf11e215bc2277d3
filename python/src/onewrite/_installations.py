"""The calls of install() that are in force for a base library, and their way out."""

from __future__ import annotations

import threading
import typing

from . import _config
from ._timing.events import TimingListener
from ._timing.hooks import Hooks, combined, make_hooks
from ._timing.record import Timing

OnTiming = typing.Callable[[Timing], object]


class Installation:
    """What one call of install() has added."""

    def __init__(self, *removals: typing.Callable[[], object]) -> None:
        self._removals = removals

    def remove(self) -> None:
        """Take the hooks of this call away, and no others; calls that are under way still report to them.

        Its options stay until another install() gives others. Called again, it does nothing.
        """
        for remove in self._removals:
            remove()


class Installations:
    """Adds the hooks of each call of install() to those of the calls before it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._hooks: dict[object, Hooks | None] = {}
        #: From the first call until uninstall(), also when every Installation was removed.
        self.active = False
        #: What holds now; without a call in force, what the environment says.
        self.options = _config.DEFAULTS
        self.hooks: Hooks | None = None

    def remain(self) -> bool:
        """Return whether there is a call that was not removed."""
        return bool(self._hooks)

    def count(self) -> int:
        """Return how many hooks are set: callbacks and listeners."""
        given = [hooks for hooks in list(self._hooks.values()) if hooks is not None]
        return sum(len(hooks.on_timing) + (hooks.listener is not None) for hooks in given)

    def add(
        self, on_timing: OnTiming | None, listener: TimingListener | None, given: typing.Mapping[str, typing.Any]
    ) -> Installation:
        """Put a call of install() in force; raise TypeError or ValueError for what is wrong with it."""
        with self.lock:
            options = _config.resolve(
                {name: value for name, value in given.items() if value is not None}, self.options
            )
            hooks = make_hooks(on_timing, listener, options.hooks_disabled)
            if options.disabled:
                return Installation()
            call = object()
            self._hooks[call] = hooks
            self.options = options
            self.active = True
            self._combine()
        return Installation(lambda: self._remove(call))

    def _remove(self, call: object) -> None:
        with self.lock:
            self._hooks.pop(call, None)
            self._combine()

    def _combine(self) -> None:
        self.hooks = combined(hooks for hooks in self._hooks.values() if hooks is not None)

    def clear(self) -> None:
        """End them all."""
        with self.lock:
            self._hooks.clear()
            self.active = False
            self.options = _config.DEFAULTS
            self.hooks = None
