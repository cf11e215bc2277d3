"""The options and hooks that own classes are given, and those of install(), which hold for a whole process."""

from __future__ import annotations

import os
import threading
import typing

from . import _config
from ._front import Places, place, put_back
from ._timing.events import TimingListener
from ._timing.hooks import Hooks, drain, make_hooks
from ._timing.record import Timing

OnTiming = typing.Callable[[Timing], object]


class Given(typing.TypedDict, total=False):
    """What install() takes; own classes take it beside the base library's arguments."""

    #: Called once per call with its finished Timing, on the thread of the request.
    on_timing: OnTiming | None
    nodelay_disabled: bool | None
    coalesce_disabled: bool | None
    hooks_disabled: bool | None
    observe: bool | None
    coalesce_max: int | None
    quickack: bool | None


class Arguments(Given, total=False):
    """The same with what gets each event."""

    listener: TimingListener | None


#: The keyword arguments that own classes and install() take.
KEYWORDS = _config.NAMES | {"on_timing", "listener"}


class Settings(typing.NamedTuple):
    """What a manager, pool or transport was given."""

    options: _config.Options
    hooks: Hooks | None


def take(keywords: dict[str, typing.Any], over: _config.Options = _config.DEFAULTS) -> Settings:
    """Take what is onewrite's out of *keywords*.

    Raises TypeError or ValueError for an option that is out of range, and for a hook that cannot be called.
    """
    taken = {name: keywords.pop(name) for name in KEYWORDS & keywords.keys()}
    on_timing, listener = taken.pop("on_timing", None), taken.pop("listener", None)
    options = _config.resolve(taken, over)
    return Settings(options, make_hooks(on_timing, listener, options.hooks_disabled))


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
        drain()


#: The Installations whose hooks_disabled code has switched on. While there is one, no hook of this process is called.
silenced: set[Installations] = set()


class Installations:
    """Adds the hooks of each call of install() to those of the calls before it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._hooks: dict[object, Hooks | None] = {}
        self.clear()

    @property
    def lock(self) -> threading.RLock:
        """The lock of install(). A forked child makes a new one: a thread of its parent may hold the old one."""
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock

    def clear(self) -> None:
        """End them all."""
        with self.lock:
            self._hooks.clear()
            silenced.discard(self)
            #: From the first call until uninstall(), also when every Installation was removed.
            self.active = False
            #: Options of install(); without a call in force those of the environment.
            self.options = _config.DEFAULTS
            #: What holds for the objects that install() reaches.
            self.in_force = _config.OFF
            #: The hooks to call.
            self.hooks: Hooks | None = None

    def remain(self) -> bool:
        """Return whether there is a call that was not removed."""
        return bool(self._hooks)

    def install(self, given: Arguments, places: Places) -> Installation:
        """Put a call in force, and replace *places*; raise TypeError or ValueError for what is wrong with it."""
        left: dict[str, typing.Any] = {**given}
        with self.lock:
            options, hooks = take(left, self.options)
            if left:
                known = ", ".join(sorted(KEYWORDS))
                raise TypeError(f"install() has no argument {next(iter(left))!r}; it has {known}")
            if options.disabled:
                return Installation()
            call = object()
            self._hooks[call] = hooks
            self.options = self.in_force = options
            self.active = True
            if given.get("hooks_disabled") is not None:
                (silenced.add if options.hooks_disabled else silenced.discard)(self)
            self._combine()
            for owner, name, make in places:
                place(owner, name, make)
        return Installation(lambda: self._remove(call))

    def uninstall(self, places: Places) -> None:
        """End them all, and leave *places* as they were."""
        with self.lock:
            if self.active:
                self.clear()
                for owner, name, _ in places:
                    put_back(owner, name)
        drain()

    def _remove(self, call: object) -> None:
        with self.lock:
            self._hooks.pop(call, None)
            self._combine()

    def _combine(self) -> None:
        found: Hooks | None = None
        for hooks in filter(None, self._hooks.values()):
            found = hooks if found is None else hooks.beside(found)
        self.hooks = None if self.options.hooks_disabled else found


def hooks_of(given: Settings | None, process: Installations) -> Hooks | None:
    """Return the hooks that an object was *given* and those of *process*, which add."""
    if silenced or (given is not None and given.options.hooks_disabled):
        return None
    own, other = None if given is None else given.hooks, process.hooks
    return own.beside(other) if own is not None and other is not None else own or other


#: What holds for urllib3.
installations = Installations()
