"""The functions of urllib3 that onewrite replaces, and when.

Each of them is the only function that sees its moment; the wrapper's docstring names it. Two moments are seen by none:
the first byte of a head, which http.client reads in one call, and the look-up of a name by a class that connects in its
own way.
"""

from __future__ import annotations

import logging
import time

import urllib3.connection
import urllib3.connectionpool
import urllib3.response
import urllib3.util.connection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from . import _base_version, _coalesce, _timing
from ._base_version import HTTPConnection, HTTPSConnection
from ._config import Scope
from ._link import Link
from ._patch import Function, Patch

log = logging.getLogger("onewrite")


def _new_conn(stock: Function) -> Function:
    """Wrap ``HTTPConnectionPool._new_conn``: a connection of an own manager's pool belongs to that manager."""

    def _new_conn(self: HTTPConnectionPool) -> object:
        conn = stock(self)
        scope: Scope | None = getattr(self, "_onewrite", None)
        if scope is not None and isinstance(conn, HTTPConnection):
            object.__setattr__(conn, "_onewrite", Link(conn, scope))
        return conn

    return _new_conn


# send() before request(), which lets it hold; undone in the other order.
_WIRE = [Patch(HTTPConnection, "_new_conn", _coalesce.connected), Patch(HTTPConnection, "send", _coalesce.send)]
if _base_version.IS_1:
    _WIRE += [Patch(HTTPConnection, name, _coalesce.request_of_1) for name in ("request", "request_chunked")]
else:  # request_chunked() calls it
    _WIRE.append(Patch(HTTPConnection, "request", _coalesce.request))
_OWN = [Patch(pool, "_new_conn", _new_conn) for pool in (HTTPConnectionPool, HTTPSConnectionPool)]
_TIMING = [
    Patch(HTTPConnection, "connect", _timing.connect),
    Patch(HTTPSConnection, "connect", _timing.connect),
    Patch(HTTPConnection, "getresponse", _timing.getresponse),
    Patch(HTTPConnection, "close", _timing.close),
    Patch(urllib3.response.HTTPResponse, "__init__", _timing.response_made),
    Patch(urllib3.response.HTTPResponse, "close", _timing.response_closed),
    Patch(urllib3.util.connection, "_set_socket_options", _timing.looked_up),
    Patch(urllib3.connection, "ssl_wrap_socket", _timing.tls),
    Patch(HTTPConnectionPool, "_get_conn", _timing.get_conn),
    Patch(HTTPConnectionPool, "_put_conn", _timing.put_conn),
    Patch(HTTPConnectionPool, "urlopen", _timing.urlopen),
]

#: Whether another copy of this package was here first: then this one stays off.
other_copy = False
#: Whether this copy has set the attribute ``_onewrite`` of the classes.
_marked = False
#: What own managers need until the process ends.
_kept: list[Patch] = []


def _is_patched_by_another() -> bool:
    """Return whether another copy of onewrite has patched urllib3, and log it once."""
    global other_copy
    if not _marked and "_onewrite" in vars(HTTPConnection) and not other_copy:
        other_copy = True
        log.warning("another copy of onewrite has patched urllib3; this one (%s) stays off", __file__)
    return other_copy


def apply(with_hooks: bool) -> None:
    """Replace the functions that are needed, and restore the others.

    Raises UnsupportedBaseError for an urllib3 that is not supported; nothing is changed then.
    """
    global _marked
    _base_version.require()
    if _is_patched_by_another():
        return
    if not _marked:  # a link, a scope: where an object has none of its own
        HTTPConnection._onewrite = HTTPConnectionPool._onewrite = None  # type: ignore[attr-defined]
        _marked = True
    for patch in _WIRE + (_TIMING if with_hooks else []):
        patch.apply()
    if not with_hooks:
        _undo(_TIMING)


def keep(with_hooks: bool) -> None:
    """Replace the functions that own managers need. They stay replaced."""
    apply(with_hooks or _TIMING[0] in _kept or any(patch.applied for patch in _TIMING))
    if other_copy:
        return
    for patch in _WIRE + _OWN + (_TIMING if with_hooks else []):
        if patch not in _kept:
            _kept.append(patch)
    for patch in _OWN:
        patch.apply()


def _undo(patches: list[Patch]) -> None:
    for patch in reversed(patches):
        if patch not in _kept:
            patch.undo()


def undo() -> None:
    """Restore the functions that are still ours and that no own manager needs."""
    global _marked
    _undo(_TIMING + _OWN)
    until = time.monotonic() + 1
    while _coalesce.holding and time.monotonic() < until:  # a head that is held needs send() in its place
        time.sleep(0.001)
    if not _coalesce.holding:
        _undo(_WIRE)
    if not applied() and _marked:
        _marked = False
        del HTTPConnection._onewrite, HTTPConnectionPool._onewrite  # type: ignore[attr-defined]


def applied() -> list[str]:
    """Return the names of the functions that are replaced now."""
    return [str(patch) for patch in _WIRE + _OWN + _TIMING if patch.applied]
