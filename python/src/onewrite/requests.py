"""An adapter for requests: ``session.mount("https://", onewrite.requests.Adapter())``."""

from __future__ import annotations

import typing

import requests.adapters

from ._front import put
from ._settings import KEYWORDS, take
from ._urllib3.manager import Manager

__all__ = ["Adapter"]


class Adapter(requests.adapters.HTTPAdapter):
    """requests' HTTPAdapter whose requests leave in one write, directly and through proxies.

    Takes what HTTPAdapter takes, ``on_timing`` and ``listener`` as :class:`onewrite.PoolManager` does,
    and onewrite's options. requests follows redirects above its adapters: each hop is a call of its own.
    """

    _onewrite_keywords: dict[str, typing.Any]

    __attrs__ = [  # noqa: RUF012 - as requests declares it
        *requests.adapters.HTTPAdapter.__attrs__,
        "_onewrite_keywords",
    ]

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        self._onewrite_keywords = {name: kwargs.pop(name) for name in KEYWORDS & kwargs.keys()}
        super().__init__(*args, **kwargs)

    def _onewrite(self, manager: typing.Any) -> typing.Any:
        if not isinstance(manager, Manager):
            given = take({**self._onewrite_keywords})
            if put(Manager, manager):
                manager._onewrite_given = given
        return manager

    def init_poolmanager(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        """Make the manager of direct connections (a method that requests documents for overriding)."""
        super().init_poolmanager(*args, **kwargs)
        self._onewrite(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: typing.Any) -> typing.Any:
        """Make the manager for *proxy*, once (a method that requests documents for overriding)."""
        return self._onewrite(super().proxy_manager_for(proxy, **proxy_kwargs))
