"""In front of urllib3's managers: their pools are onewrite's, and a redirect to another host is an attempt."""

from __future__ import annotations

import typing

import urllib3
import urllib3.poolmanager

from .._front import Front, put_on_new
from .._settings import Settings, installations
from .._timing.record import current
from .pool import Own, Pool, timed_urlopen

if typing.TYPE_CHECKING:
    _Behind = urllib3.PoolManager
else:
    _Behind = Front


class Manager(_Behind):
    """Stands in front of a manager's class."""

    _onewrite_given: Settings | None = None

    def _new_pool(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        pool: typing.Any = super()._new_pool(*args, **kwargs)
        given = self._onewrite_given
        if given is not None and not given.options.disabled and put_on_new(Pool, pool):
            pool._onewrite_given = given
        return pool

    if not typing.TYPE_CHECKING:  # it has urllib3's type

        def urlopen(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            """Send a request: see urllib3."""
            given = self._onewrite_given
            if installations.hooks is None and (given is None or given.hooks is None) and current.get() is None:
                return super().urlopen(*args, **kwargs)
            return timed_urlopen(given, self, None, super().urlopen, args, kwargs)


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
