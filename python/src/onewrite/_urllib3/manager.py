"""In front of urllib3's managers: their pools are onewrite's, and a redirect to another host is an attempt."""

from __future__ import annotations

import typing

import urllib3
import urllib3.poolmanager

from .. import _config
from .._config import Options
from .._front import Front, put_on_new
from .._settings import installations
from .._timing.hooks import Hooks
from .._timing.record import current
from .pool import Own, Pool, hooks_of, is_attempt, run

if typing.TYPE_CHECKING:
    _Behind = urllib3.PoolManager
else:
    _Behind = Front


class Manager(_Behind):
    """Stands in front of a manager's class."""

    _onewrite_given: Options | None = _config.DEFAULTS
    _onewrite_hooks: Hooks | None = None

    def _new_pool(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        pool: typing.Any = super()._new_pool(*args, **kwargs)
        given, hooks = self._onewrite_given, self._onewrite_hooks
        if given is not None and not given.disabled and put_on_new(Pool, pool):
            pool._onewrite_given, pool._onewrite_hooks = given, hooks
        return pool

    if not typing.TYPE_CHECKING:  # it has urllib3's type

        def urlopen(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            """Send a request: see urllib3."""
            if installations.hooks is None and self._onewrite_hooks is None and current.get() is None:
                return super().urlopen(*args, **kwargs)
            return send(self, super().urlopen, args, kwargs)


def send(manager: typing.Any, urlopen: typing.Any, args: typing.Any, kwargs: typing.Any) -> typing.Any:
    """Call *urlopen* of *manager*: part of a call that is under way, or a call."""
    outer = current.get()
    if outer is not None and is_attempt(outer, manager, None, args, kwargs):
        return urlopen(*args, **kwargs)
    hooks = hooks_of(manager)
    if hooks is None:
        return urlopen(*args, **kwargs)
    return run(hooks, manager, None, urlopen, args, kwargs)


class PoolManager(Own, Manager, urllib3.PoolManager):
    """urllib3's PoolManager whose requests leave in one write, with TCP_NODELAY on.

    Takes what urllib3's takes, and:

    - ``on_timing``: called once per call with its finished :class:`onewrite.Timing`;
    - ``listener``: a :class:`onewrite.TimingListener`, gets each event as it happens;
    - the options of onewrite (``coalesce_max``, ``quickack``, …).

    Raises TypeError or ValueError for a value of these that is of the wrong type or out of range.
    """


class ProxyManager(Own, Manager, urllib3.ProxyManager):
    """urllib3's ProxyManager; takes what :class:`onewrite.PoolManager` takes beside urllib3's arguments."""
