"""Managers of one's own: one write, TCP_NODELAY and records for their connections alone, without install()."""

from __future__ import annotations

import typing

import urllib3

from ._install import own_scope


class Own:
    """Base of pool managers and adapters: marks their pools with a scope."""

    def __init__(
        self,
        *args: typing.Any,
        on_timing: typing.Callable[..., object] | None = None,
        observe: bool | None = None,
        quickack: bool | None = None,
        **kwargs: typing.Any,
    ) -> None:
        self._onewrite = own_scope(on_timing, observe, quickack)
        super().__init__(*args, **kwargs)

    def _own(self, pool: typing.Any) -> typing.Any:
        if self._onewrite is not None:
            pool._onewrite = self._onewrite
        return pool


class PoolManager(Own, urllib3.PoolManager):
    """urllib3's PoolManager, whose requests leave in one write.

    ``on_timing``, ``observe`` and ``quickack`` are those of :func:`onewrite.install`. The same functions of urllib3 are
    replaced when the first manager is made; for the connections of others they only call urllib3's.
    """

    def _new_pool(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        return self._own(super()._new_pool(*args, **kwargs))


class ProxyManager(PoolManager, urllib3.ProxyManager):
    """The same behind a proxy: urllib3's ProxyManager."""
