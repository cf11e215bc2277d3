"""install(), uninstall() and status(): the same behaviour for every user of urllib3 in this process.

The methods are replaced on ``urllib3.connection.HTTPConnection`` itself, not on the pool's
``ConnectionCls``, because botocore, docker, vcrpy, urllib3's SOCKS support and users' own code bind
the class when they are imported. A subclass that overrides one of these methods without calling its
parent keeps its own way of writing. HTTP/2 connections (``urllib3.http2``) override ``request`` and
``send`` and are left alone.

A method that a tracer has wrapped before install() is bound by the descriptor protocol, as the class would bind it,
so the tracer sees the instance. A tracer that comes later wraps onewrite's.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager

from . import _base_version, _config
from ._timing import call as calls
from ._timing.events import TimingListener, hook_failures
from ._timing.hooks import Hooks, make_hooks
from ._timing.record import Timing
from ._urllib3 import connect, connection, originals, pool, response, state

_lock = threading.RLock()
_hooks: Hooks | None = None

_Connection = originals.genuine(urllib3.connection, "HTTPConnection")
_HTTPSConnection = originals.genuine(urllib3.connection, "HTTPSConnection")
_Pool = originals.genuine(urllib3.connectionpool, "HTTPConnectionPool")
_HTTPSPool = originals.genuine(urllib3.connectionpool, "HTTPSConnectionPool")
_Manager = originals.genuine(urllib3.poolmanager, "PoolManager")

#: Set on urllib3's connection class while install() is in force.
_INSTALLED = "_onewrite_installed"


class _Patch(typing.NamedTuple):
    """One method that install() replaces; ``function`` takes the instance and the method it stands in for."""

    owner: type
    name: str
    function: typing.Any
    #: Whether only timing needs it: without a hook it is not replaced.
    timing: bool = False


#: In this order no request under way is cut in two. Each function says why it replaces that method.
_PATCHES = [
    _Patch(_Connection, "send", connection.send),
    _Patch(_Connection, "__init__", connection.init),
    _Patch(_Connection, "connect", connect.connect),
    # HTTPSConnection.connect does not call HTTPConnection.connect.
    _Patch(_HTTPSConnection, "connect", connect.connect),
    _Patch(_Connection, "getresponse", response.getresponse),
    _Patch(_Connection, "close", connection.close, timing=True),
    _Patch(_Pool, "_put_conn", pool.put_conn, timing=True),
    _Patch(_Pool, "_get_conn", pool.get_conn, timing=True),
    _Patch(_Pool, "urlopen", pool.urlopen, timing=True),
    _Patch(_Manager, "urlopen", pool.urlopen, timing=True),
    _Patch(_Connection, "request", connection.request),
]
if _base_version.IS_V1:
    _PATCHES.append(_Patch(_Connection, "request_chunked", connection.request_chunked))
else:
    _PATCHES.append(_Patch(_Pool, "_make_request", pool.make_request))


class _Replaced(typing.NamedTuple):
    owner: type
    name: str
    #: What the class itself had under the name; None where it inherited it.
    own: typing.Any
    #: What is there in its place.
    ours: typing.Any


_replaced: list[_Replaced] = []

#: What other seams have patched, for status(): the methods by full name. One is added when its module is imported.
further: list[typing.Callable[[], dict[str, dict[str, typing.Any]]]] = []


def _around(patch: _Patch, original: typing.Any) -> typing.Any:
    function = patch.function
    bind = type(original).__get__

    if function is pool.urlopen:

        @functools.wraps(original)
        def method(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            bound = bind(original, self, type(self))
            hooks = _hooks
            if hooks is None or self._onewrite_hooks is not None:
                return bound(*args, **kwargs)
            return function(self, bound, hooks, True, *args, **kwargs)

    elif patch.timing and patch.owner is _Pool:

        @functools.wraps(original)
        def method(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            bound = bind(original, self, type(self))
            if self._onewrite_hooks is not None:
                return bound(*args, **kwargs)
            return function(self, bound, *args, **kwargs)

    else:

        @functools.wraps(original)
        def method(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            bound = bind(original, self, type(self))
            if self._onewrite_own:
                return bound(*args, **kwargs)
            return function(self, bound, *args, **kwargs)

    return method


def install(
    *,
    on_timing: typing.Callable[[Timing], object] | None = None,
    listener: TimingListener | None = None,
    nodelay_disabled: bool | None = None,
    coalesce_disabled: bool | None = None,
    hooks_disabled: bool | None = None,
    coalesce_max: int | None = None,
    quickack: bool | None = None,
    fast: bool | None = None,
) -> None:
    """Make every urllib3 connection of this process send a request in one write, with TCP_NODELAY on.

    Call it once, early. Called again it changes hooks and options, for connections made and calls
    started from then on. An option left out or None is as the environment has it. Safe to call from
    any thread. With ``ONEWRITE_DISABLED=true`` it does nothing.

    Raises UnsupportedBaseError, an ImportError, when the installed urllib3 is not one that onewrite
    knows (1.26 and 2.x): nothing is changed then. Raises TypeError or ValueError for an option that does
    not exist or is out of range.
    """
    global _hooks
    given = {
        "nodelay_disabled": nodelay_disabled,
        "coalesce_disabled": coalesce_disabled,
        "hooks_disabled": hooks_disabled,
        "coalesce_max": coalesce_max,
        "quickack": quickack,
        "fast": fast,
    }
    resolved = _config.resolve({name: value for name, value in given.items() if value is not None})
    hooks = make_hooks(on_timing, listener, resolved.hooks_disabled)
    if resolved.disabled:
        return
    _base_version.require()
    with _lock:
        if not installed():
            for name, value in state.STATE.items():
                setattr(_Connection, name, value)
            for owner in (_Pool, _Manager):
                owner._onewrite_own = False
                owner._onewrite_hooks = None
        _Connection._onewrite_options = resolved
        connection.undoing = calls.unwatched = False
        _hooks = hooks
        setattr(_Connection, _INSTALLED, True)
        # Methods that uninstall() had to leave in place work again. Those that somebody has restored since, such as
        # a mock that was there before install(), are replaced anew.
        _replaced[:] = [one for one in _replaced if not _gone(one)]
        present = {(one.owner, one.name) for one in _replaced}
        for patch in _PATCHES:
            if (patch.timing and hooks is None) or (patch.owner, patch.name) in present:
                continue
            defining = next(cls for cls in patch.owner.__mro__ if patch.name in cls.__dict__)
            original = defining.__dict__[patch.name]
            ours = _around(patch, original)
            if originals.own(original, defining.__module__):  # the seam may run below it
                originals.installed(ours)
            _replaced.append(_Replaced(patch.owner, patch.name, patch.owner.__dict__.get(patch.name), ours))
            setattr(patch.owner, patch.name, ours)


def _gone(one: _Replaced) -> bool:
    """Whether somebody has put the library's own method back."""
    there = one.owner.__dict__.get(one.name)
    return there is one.own or originals.own(there, one.owner.__module__)


def installed() -> bool:
    """Whether install() is in force."""
    return _INSTALLED in _Connection.__dict__


def uninstall() -> None:
    """Put urllib3's own methods back; without an install() before it, do nothing.

    Connections that are open stay open and are urllib3's own from the next request on. A request that
    another thread is just putting together is finished first; a response that is still being read gets its
    record now. A method that someone else has wrapped since install() stays in place, with onewrite's inside
    it doing nothing; the log names them.
    """
    global _hooks
    with _lock:
        _hooks = None
        if not installed():
            return
        connection.undoing = calls.unwatched = True
        deadline = time.monotonic() + 2.0
        while connection.holding and time.monotonic() < deadline:
            time.sleep(0.001)
        connection.holding.clear()  # a request that was interrupted may have left its entry
        _Connection._onewrite_own = _Pool._onewrite_own = True
        delattr(_Connection, _INSTALLED)
        left = []
        for one in reversed(_replaced):
            if one.owner.__dict__.get(one.name) is not one.ours:
                left.append(one)
                continue
            originals.uninstalled(one.ours)
            if one.own is None:
                delattr(one.owner, one.name)
            else:
                setattr(one.owner, one.name, one.own)
        _replaced[:] = reversed(left)
    if left:
        names = ", ".join(f"{one.owner.__name__}.{one.name}" for one in left)
        _config.log.warning("uninstall: %s: wrapped by someone else since install(), left in place, idle", names)
    calls.end_unwatched()


@dataclasses.dataclass(frozen=True)
class Status:
    """What onewrite does in this process, what it leaves alone, and why."""

    #: Version of urllib3, and why it is left alone; None where it is known.
    urllib3: str
    unsupported: str | None
    #: Whether install() is in force, and whether it reports to a hook.
    installed: bool
    hooks: bool
    #: Options of install(); without it those of the environment.
    options: dict[str, bool | int]
    #: Whether ordinary requests are sent and read by onewrite, and why not.
    fast: bool
    fast_off: str | None
    #: By full name: "patched", "stock" or "not needed"; who has wrapped it, outermost first.
    methods: dict[str, dict[str, typing.Any]]
    #: How many times a hook of this process raised.
    hook_failures: int

    def to_dict(self) -> dict[str, typing.Any]:
        """The same as a dict of plain values."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """The same as lines of text."""
        lines = [
            f"urllib3 {self.urllib3}: " + (self.unsupported or "known"),
            "install(): " + ("in force" if self.installed else "not in force; own classes work without it"),
            "hooks of install(): " + ("set" if self.hooks else "none") + f"; {self.hook_failures} hook failures",
            "options: " + ", ".join(f"{name}={value}" for name, value in self.options.items()),
            "ordinary requests: " + ("fast" if self.fast else f"left to urllib3: {self.fast_off}"),
        ]
        for name, found in self.methods.items():
            by = ", ".join(found["wrapped_by"])
            lines.append(f"  {name}: {found['state']}" + (f", wrapped by {by}" if by else ""))
        return "\n".join(lines)


def status() -> Status:
    """Say what is patched in this process, wrapped by whom, switched off, and why."""
    with _lock:
        active = installed()
        options = _Connection._onewrite_options if active else _config.DEFAULTS
        ours = {(one.owner, one.name): one.ours for one in _replaced} if active else {}
        methods = {}
        for patch in _PATCHES:
            function = patch.owner.__dict__.get(patch.name)
            state = "stock"
            if (patch.owner, patch.name) in ours:
                state = "patched"
            elif patch.timing and active:
                state = "stock: no hook is set"
            methods[_name(patch.owner, patch.name)] = {"state": state, "wrapped_by": originals.wrappers(function)}
        for told in further:
            methods.update(told())
        why = _fast_off(options)
        for owner, name, function in _replaced_by_others():
            full = _name(owner, name)
            if full not in methods:
                methods[full] = {"state": "replaced", "wrapped_by": originals.wrappers(function)}
            why = why or f"{full} was replaced by {', '.join(originals.wrappers(function)) or 'somebody'}"
        return Status(
            urllib3=_base_version.version(),
            unsupported=_base_version.unsupported(),
            installed=active,
            hooks=_hooks is not None,
            options=dataclasses.asdict(options),
            fast=why is None,
            fast_off=why,
            methods=methods,
            hook_failures=hook_failures(),
        )


def _name(owner: type, name: str) -> str:
    return f"{owner.__module__}.{owner.__name__}.{name}"


def _fast_off(options: _config.Options) -> str | None:
    for name in ("disabled", "coalesce_disabled", "fast_disabled"):
        if getattr(options, name):
            return f"{name} is set"
    return pool.OFF


def _replaced_by_others() -> list[tuple[type, str, typing.Any]]:
    """The methods bypassed by the seam that are not the libraries' own."""
    return [
        *originals.methods(_HTTPSConnection, _HTTPSPool).replaced(),
        *((_Pool, "_make_request", own) for own in [_Pool.__dict__["_make_request"]] if originals.wrappers(own)),
    ]
