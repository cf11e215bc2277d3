"""The own managers."""

from __future__ import annotations

import typing

import urllib3
import urllib3.poolmanager

from .. import _config
from .._installations import take
from .pool import Hooked, HTTPConnectionPool, HTTPSConnectionPool, Pool

if typing.TYPE_CHECKING:
    import ssl

    from typing_extensions import Unpack

    from .._keywords import Keywords


class Manager(Hooked):
    """Behaviour of the managers, in front of urllib3's."""

    _own_pool_classes: typing.ClassVar[dict[str, typing.Any]] = {
        "http": HTTPConnectionPool,
        "https": HTTPSConnectionPool,
    }

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_options, self._onewrite_hooks = take(kwargs)
        super().__init__(*args, **kwargs)
        if type(self) in (PoolManager, ProxyManager):
            _refuse_unknown(self.connection_pool_kw)  # type: ignore[attr-defined]
        if not self._onewrite_options.disabled:
            self.pool_classes_by_scheme = dict(self._own_pool_classes)

    def _new_pool(self, scheme: str, host: str, port: int, request_context: typing.Any = None) -> typing.Any:
        pool = super()._new_pool(scheme, host, port, request_context)  # type: ignore[misc]
        if isinstance(pool, Pool):
            pool._onewrite_options = self._onewrite_options
            pool._onewrite_hooks = self._onewrite_hooks
        return pool


def _refuse_unknown(keywords: typing.Iterable[str]) -> None:
    """urllib3 would find out at the first request, in words of its own."""
    for name in keywords:
        if f"key_{name}" not in urllib3.poolmanager.PoolKey._fields and name != "strict":
            ours = ", ".join(sorted(_config.NAMES))
            raise TypeError(f"neither onewrite nor urllib3 has an option {name!r}; onewrite has {ours}")


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
