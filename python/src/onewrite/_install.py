"""install(), uninstall() and status(): the same behaviour for every user of urllib3 in this process.

install() replaces functions of urllib3's classes:

- ``HTTPConnection.__init__``. Each connection made from then on gets a class with onewrite's in front of its own.
  botocore, docker, vcrpy, urllib3's SOCKS support and users' own code derive from this class;
- ``HTTPConnectionPool.__init__``, for the times of a pool's requests;
- ``HTTPConnectionPool._get_conn``, which reaches pools that are older, and their closed connections;
- ``PoolManager.urlopen``: a redirect to another host is an attempt of the same call, and only the manager sees that.
"""

from __future__ import annotations

import dataclasses
import sys
import typing

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager

from . import _base_version, _config, _front
from ._settings import Arguments, Installation, installations, silenced
from ._timing.hooks import drain, hook_failures
from ._urllib3.connection import OneWrite, adopt
from ._urllib3.manager import Manager
from ._urllib3.pool import Pool, timed_urlopen
from ._version import __version__

_Connection = _base_version.genuine(urllib3.connection, "HTTPConnection")
_Pool = _base_version.genuine(urllib3.connectionpool, "HTTPConnectionPool")
_Manager = _base_version.genuine(urllib3.poolmanager, "PoolManager")


def _manager_urlopen(below: typing.Callable[..., typing.Any]) -> typing.Callable[..., typing.Any]:
    def urlopen(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        bound = below.__get__(self, type(self))  # a tracer's wrapper has to be bound
        if isinstance(self, Manager):
            return bound(*args, **kwargs)
        return timed_urlopen(None, self, None, bound, args, kwargs)

    return urlopen


def _pool_get_conn(below: typing.Any) -> typing.Callable[..., typing.Any]:
    def _get_conn(self: typing.Any, timeout: float | None = None) -> typing.Any:
        conn = below.__get__(self, type(self))(timeout)  # a tracer's wrapper has to be bound
        if not isinstance(conn, OneWrite) and installations.active and getattr(conn, "sock", self) is None:
            adopt(conn)  # it connects next
        if installations.active and not isinstance(self, Pool) and _front.put(Pool, self) and installations.hooks:
            _front.miss("the first request of a pool that is older than install()")
        return conn

    return _get_conn


_PLACES = (
    (_Connection, "__init__", _front.after_init(installations, adopt)),
    (_Pool, "_get_conn", _pool_get_conn),
    (_Pool, "__init__", _front.after_init(installations, lambda pool: _front.put_on_new(Pool, pool))),
    (_Manager, "urlopen", _manager_urlopen),
)


def install(**options: Unpack[Arguments]) -> Installation:
    """Make every urllib3 connection of this process send a request in one write, with TCP_NODELAY on.

    Call it early: connections that are open already stay as they are, and a pool that is older than install() is
    recorded from its second request on. Safe from any thread. Called again, it adds its hooks to those that are there,
    and its options replace those it names; None leaves an option as it is. ``hooks_disabled=True`` ends all hooks of
    this process. With ``ONEWRITE_DISABLED=true`` it does nothing.

    ``on_timing`` is called once per call with its finished :class:`onewrite.Timing`, on the thread of the request;
    ``listener``, a :class:`onewrite.TimingListener`, gets each event as it happens. The README describes the options.

    Raises UnsupportedBaseError, an ImportError, when the installed urllib3 has another version than 1.26 and 2.x, or
    lacks a private name that onewrite relies on: nothing is changed then. Raises TypeError or ValueError for an option
    that is of the wrong type or out of range.
    """
    if not _config.DEFAULTS.disabled:
        _base_version.require()
    return installations.install(options, _PLACES)


def uninstall() -> None:
    """Leave urllib3 as it was; without an install() before it, do nothing.

    Connections that are open stay open and are urllib3's own from the next request on. Requests under way end as they
    began, and responses that are still being read get their records. A function that somebody has wrapped since
    install() stays in place and only calls urllib3's.
    """
    installations.uninstall(_PLACES)


@dataclasses.dataclass(frozen=True)
class Status:
    """What onewrite does in this process, and why not."""

    #: onewrite's version.
    version: str
    #: Whether install() is in force, and why not. Own classes work without it where urllib3 is supported.
    enabled: bool
    off_because: str | None
    #: The base library: its "name" and "version".
    base: dict[str, str]
    #: By full name: "patched", "idle" after uninstall(), or "stock".
    patches: dict[str, str]
    #: Options of install(); without it those of the environment.
    options: dict[str, bool | int]
    #: How many hooks of install() are called, and how many times a hook of this process raised.
    hooks: int
    hook_errors: int
    #: How many were not reached: first requests of pools older than install(), objects whose class cannot change.
    missed: int

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the same as a dict of plain values, with the names of the other languages."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Return the same as lines of text."""
        state = "in force" if self.enabled else f"not in force: {self.off_because}"
        lines = [
            f"onewrite {self.version} over {self.base['name']} {self.base['version']}",
            f"install(): {state}" + (", observing only" if self.enabled and self.options["observe"] else ""),
            f"hooks of install(): {self.hooks}; {self.hook_errors} hook errors; {self.missed} not reached",
            "options: " + ", ".join(f"{name}={value}" for name, value in self.options.items()),
        ]
        return "\n".join([*lines, *(f"  {name}: {state}" for name, state in self.patches.items())])


def status() -> Status:
    """Return what is patched in this process, or switched off, and why."""
    drain()
    places = [(owner, name, installations.active) for owner, name, _ in _PLACES]
    httpcore = sys.modules.get(f"{__package__}._httpcore.install")
    if httpcore is not None:
        places += [(owner, name, httpcore.installations.active) for owner, name, _ in httpcore.places()]
    off_because = None
    if not installations.active:
        disabled = installations.options.disabled
        off_because = "ONEWRITE_DISABLED is set" if disabled else _base_version.unsupported() or "not installed"
    return Status(
        version=__version__,
        enabled=installations.active,
        off_because=off_because,
        base={"name": "urllib3", "version": _base_version.version()},
        patches={
            f"{owner.__module__}.{owner.__name__}.{name}": _front.state_of(owner, name, active)
            for owner, name, active in places
        },
        options={
            **dataclasses.asdict(installations.options),
            "hooks_disabled": installations.options.hooks_disabled or bool(silenced),
        },
        hooks=0 if installations.hooks is None or silenced else installations.hooks.count(),
        hook_errors=hook_failures(),
        missed=_front.missed(),
    )
