"""In front of urllib3's managers: their pools are onewrite's, and a redirect to another host is an attempt."""

from __future__ import annotations

import typing

import urllib3
import urllib3.poolmanager

from .. import _config
from .._base_version import require
from .._config import Options
from .._front import Front, asleep, put
from .._settings import take
from .._timing.hooks import Hooks
from .pool import TimedPool, hooks_of, run

if typing.TYPE_CHECKING:
    import ssl

    from typing_extensions import Unpack

    from .._keywords import Keywords

    _Behind = urllib3.PoolManager
else:
    _Behind = Front


@asleep("urlopen")
class Manager(_Behind):
    """Stands in front of a manager's class."""

    _onewrite_given: Options = _config.DEFAULTS
    _onewrite_hooks: Hooks | None = None

    def _new_pool(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        pool = super()._new_pool(*args, **kwargs)
        if not self._onewrite_given.disabled and put(TimedPool, pool, True):
            pool._onewrite_given = self._onewrite_given  # type: ignore[attr-defined]
            pool._onewrite_hooks = self._onewrite_hooks  # type: ignore[attr-defined]
        return pool

    def urlopen(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Send a request: see urllib3."""
        hooks = hooks_of(self)
        if hooks is None:
            return super().urlopen(method, url, *args, **kwargs)
        return run(hooks, self, None, super().urlopen, method, url, args, kwargs)


def refuse_unknown(keywords: typing.Iterable[str]) -> None:
    """Raise TypeError for an option that neither library has, which urllib3 would refuse at the first request."""
    for name in keywords:
        if f"key_{name}" not in urllib3.poolmanager.PoolKey._fields and name != "strict":
            known = ", ".join(sorted(_config.NAMES))
            raise TypeError(f"neither onewrite nor urllib3 has an option {name!r}; onewrite has {known}")


class PoolManager(Manager, urllib3.PoolManager):
    """urllib3's PoolManager whose requests leave in one write, with TCP_NODELAY on.

    Takes what urllib3's takes, and:

    - ``on_timing``: called once per call with its finished :class:`onewrite.Timing`;
    - ``listener``: a :class:`onewrite.TimingListener`, gets each event as it happens;
    - the options of onewrite (``coalesce_max``, ``quickack``, …).

    Raises TypeError or ValueError for an option that does not exist or is out of range.
    """

    if typing.TYPE_CHECKING:

        def __init__(
            self,
            num_pools: int = 10,
            headers: typing.Mapping[str, str] | None = None,
            **keywords: Unpack[Keywords],
        ) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            require()
            self._onewrite_given, self._onewrite_hooks = take(kwargs)
            super().__init__(*args, **kwargs)
            refuse_unknown(self.connection_pool_kw)


class ProxyManager(Manager, urllib3.ProxyManager):
    """urllib3's ProxyManager whose requests leave in one write, with TCP_NODELAY on.

    Takes what urllib3's takes, and what :class:`onewrite.PoolManager` takes beside it.
    """

    if typing.TYPE_CHECKING:

        def __init__(
            self,
            proxy_url: str,
            num_pools: int = 10,
            headers: typing.Mapping[str, str] | None = None,
            proxy_headers: typing.Mapping[str, str] | None = None,
            proxy_ssl_context: ssl.SSLContext | None = None,
            use_forwarding_for_https: bool = False,
            proxy_assert_hostname: str | typing.Literal[False] | None = None,
            proxy_assert_fingerprint: str | None = None,
            **keywords: Unpack[Keywords],
        ) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            require()
            self._onewrite_given, self._onewrite_hooks = take(kwargs)
            super().__init__(*args, **kwargs)
            refuse_unknown(self.connection_pool_kw)
