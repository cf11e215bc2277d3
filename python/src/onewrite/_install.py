"""install(), uninstall() and status(): the same behaviour for every user of urllib3 in this process.

The methods are replaced on ``urllib3.connection.HTTPConnection``, not on the pool's ``ConnectionCls``, because
botocore, docker, vcrpy, urllib3's SOCKS support and users' own code bind the class when they are imported. A subclass
that overrides one of these methods without calling its parent writes in its own way. HTTP/2 connections
(``urllib3.http2``) override ``request`` and ``send`` and are left alone.
"""

from __future__ import annotations

import dataclasses
import http.client
import sys
import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager

from . import _base_version, _config, _patches
from ._installations import Installation, Installations, OnTiming
from ._timing.events import TimingListener, hook_failures
from ._timing.hooks import Hooks
from ._urllib3 import connection, pool, response, state
from ._version import __version__

#: What holds for urllib3.
installations = Installations()

_Connection = _patches.genuine(urllib3.connection, "HTTPConnection")
_HTTPSConnection = _patches.genuine(urllib3.connection, "HTTPSConnection")
_Pool = _patches.genuine(urllib3.connectionpool, "HTTPConnectionPool")
_Manager = _patches.genuine(urllib3.poolmanager, "PoolManager")


class _Patch(typing.NamedTuple):
    """One method that install() replaces."""

    owner: type
    name: str
    method: connection.Method


def _hooks_of(owner: typing.Any) -> Hooks | None:
    return installations.hooks if owner._onewrite_hooks is None else None


_URLOPEN = connection.Method(pool.make_urlopen(_hooks_of), timing=True)

#: Replaced in this order, so that no request is begun whose end is not seen. Each function says why it replaces that
#: method.
_PATCHES = [
    *(_Patch(_Connection, name, method) for name, method in connection.METHODS.items() if name != "request"),
    # HTTPSConnection.connect does not call HTTPConnection.connect.
    _Patch(_HTTPSConnection, "connect", connection.METHODS["connect"]),
    _Patch(_Pool, "_put_conn", connection.Method(pool.make_put_conn, timing=True, stays=True)),
    _Patch(_Pool, "_get_conn", connection.Method(pool.make_get_conn, timing=True)),
    _Patch(_Pool, "urlopen", _URLOPEN),
    _Patch(_Manager, "urlopen", _URLOPEN),
    _Patch(_Connection, "request", connection.METHODS["request"]),
]


def install(
    *,
    on_timing: OnTiming | None = None,
    listener: TimingListener | None = None,
    nodelay_disabled: bool | None = None,
    coalesce_disabled: bool | None = None,
    hooks_disabled: bool | None = None,
    coalesce_max: int | None = None,
    quickack: bool | None = None,
) -> Installation:
    """Make every urllib3 connection of this process send a request in one write, with TCP_NODELAY on.

    Call it early; safe from any thread. Called again, it adds its hooks to those that are there: after two calls with
    the same ``on_timing`` each record reaches it twice. Its options replace those it names. An option left out or
    None stays as it is: as an earlier call or the environment has it. With ``ONEWRITE_DISABLED=true`` install() does
    nothing.

    - ``on_timing``: called once per call with its finished :class:`onewrite.Timing`, on the thread of the request;
    - ``listener``: a :class:`onewrite.TimingListener`, gets each event as it happens;
    - ``nodelay_disabled``: TCP_NODELAY is left as urllib3 and its user set it (default False);
    - ``coalesce_disabled``: head and body are written apart, as by urllib3 (default False);
    - ``hooks_disabled``: the hooks of this call are not called (default False);
    - ``coalesce_max``: up to how many bytes head and body are copied into one buffer, 0 to 16384 (default 16384, one
      TLS record). More than that is one ``sendmsg`` without a copy on a plain socket;
    - ``quickack``: Linux is asked to acknowledge each response at once (TCP_QUICKACK; default False).

    Returns the :class:`onewrite.Installation`, whose ``remove()`` takes the hooks of this call away and no others.

    Raises UnsupportedBaseError, an ImportError, when the installed urllib3 is not one that onewrite knows (1.26 and
    2.x): nothing is changed then. Raises TypeError or ValueError for an option that is of the wrong type or out of
    range.
    """
    if not _config.DEFAULTS.disabled:
        _base_version.require()
    with installations.lock:
        installation = installations.add(
            on_timing=on_timing,
            listener=listener,
            nodelay_disabled=nodelay_disabled,
            coalesce_disabled=coalesce_disabled,
            hooks_disabled=hooks_disabled,
            coalesce_max=coalesce_max,
            quickack=quickack,
        )
        if installations.active:
            _place()
    return installation


def _place() -> None:
    if "_onewrite_options" not in _Connection.__dict__:
        for name, value in state.STATE.items():
            setattr(_Connection, name, value)
        for owner in (_Pool, _Manager):
            owner._onewrite_hooks = None
    _Connection._onewrite_options = installations.options
    if _Connection.response_class is http.client.HTTPResponse:
        _Connection.response_class = response.Unread
    for patch in _PATCHES:
        if not patch.method.timing or installations.hooks is not None:
            _patches.place(patch.owner, patch.name, patch.method.make, _active)


def _active() -> bool:
    return installations.active


def uninstall() -> None:
    """Leave urllib3 as it was; without an install() before it, do nothing.

    Connections that are open stay open and are urllib3's own from the next request on. Requests under way end as they
    began, and responses that are still being read get their records: the methods that end what others began stay in
    place, each calling urllib3's and doing nothing else. So does a method that somebody has wrapped since install().
    """
    with installations.lock:
        if installations.active:
            installations.clear()
            _Connection._onewrite_options = _config.OFF
            if _Connection.__dict__.get("response_class") is response.Unread:
                del _Connection.response_class
            for patch in reversed(_PATCHES):
                if not patch.method.stays:
                    _patches.put_back(patch.owner, patch.name)


@dataclasses.dataclass(frozen=True)
class Status:
    """What onewrite does in this process, what it leaves alone, and why."""

    #: onewrite's version.
    version: str
    #: Whether install() is in force, and why not. Own classes work without it where urllib3 is supported.
    enabled: bool
    off_because: str | None
    #: The base library: its "name" and "version".
    base: dict[str, str]
    #: By full name: "patched", "idle" after uninstall(), or "stock"; who has wrapped it, outermost first.
    patches: dict[str, dict[str, typing.Any]]
    #: Options of install(); without it those of the environment.
    options: dict[str, bool | int]
    #: How many hooks of install() are set, and how many times a hook of this process raised.
    hooks: int
    hook_errors: int
    #: Modules in this process that send requests and are not reached by install().
    not_reached: list[str]

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the same as a dict of plain values, with the names of the other languages."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Return the same as lines of text."""
        lines = [
            f"onewrite {self.version} over {self.base['name']} {self.base['version']}",
            "install(): " + ("in force" if self.enabled else f"not in force: {self.off_because}"),
            f"hooks of install(): {self.hooks}; {self.hook_errors} hook errors",
            "options: " + ", ".join(f"{name}={value}" for name, value in self.options.items()),
        ]
        for name, found in self.patches.items():
            by = ", ".join(found["wrapped_by"])
            lines.append(f"  {name}: {found['state']}" + (f", wrapped by {by}" if by else ""))
        if self.not_reached:
            lines.append("loaded and not reached by install(): " + ", ".join(self.not_reached))
        return "\n".join(lines)


def status() -> Status:
    """Say what is patched in this process, wrapped by whom, switched off, and why."""
    patches = {
        _patches.full_name(owner, name): _patches.found(owner, name)
        for owner, name in [*((patch.owner, patch.name) for patch in _PATCHES), *_patches.placed()]
    }
    for patch in _PATCHES:
        found = patches[_patches.full_name(patch.owner, patch.name)]
        if patch.method.timing and installations.active and found["state"] == "stock":
            found["state"] = "stock: no hook is set"
    return Status(
        version=__version__,
        enabled=installations.active,
        off_because=_off_because(),
        base={"name": "urllib3", "version": _base_version.version()},
        patches=patches,
        options=dataclasses.asdict(installations.options),
        hooks=installations.count(),
        hook_errors=hook_failures(),
        not_reached=sorted(_not_reached()),
    )


def _off_because() -> str | None:
    if installations.active:
        return None
    if installations.options.disabled:
        return "ONEWRITE_DISABLED is set"
    return _base_version.unsupported() or "not installed"


def _not_reached() -> typing.Iterator[str]:
    if "urllib.request" in sys.modules:
        yield "urllib.request"
    for name, module in list(sys.modules.items()):
        if name.endswith(".urllib3") and module is not urllib3:  # a copy inside another package, such as pip's
            yield name
