"""An adapter for requests: ``session.mount("https://", onewrite.requests.Adapter())``."""

from __future__ import annotations

import typing

import requests.adapters
import requests.utils

from ._errors import InvalidRequestError
from ._installations import KEYWORDS, take
from ._urllib3.manager import PoolManager, ProxyManager

if typing.TYPE_CHECKING:
    import urllib3
    from typing_extensions import Unpack

    from ._keywords import Options

__all__ = ["Adapter", "InvalidRequest"]


class InvalidRequest(InvalidRequestError, requests.exceptions.InvalidHeader):  # noqa: N818 - as requests names its own
    """An InvalidRequestError that is also a RequestException."""


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

    if typing.TYPE_CHECKING:

        def __init__(
            self,
            pool_connections: int = ...,
            pool_maxsize: int = ...,
            max_retries: urllib3.Retry | int | None = ...,
            pool_block: bool = ...,
            **options: Unpack[Options],
        ) -> None: ...

    else:

        def __init__(self, *args, **kwargs):
            self._onewrite_keywords = {name: kwargs.pop(name) for name in KEYWORDS & kwargs.keys()}
            take({**self._onewrite_keywords})  # a bad one raises here, not at the first request
            super().__init__(*args, **kwargs)

    def send(self, *args: typing.Any, **kwargs: typing.Any) -> requests.Response:
        """Send a request: see :meth:`requests.adapters.HTTPAdapter.send`.

        Raises :class:`InvalidRequest` for what is refused before its first byte.
        """
        try:
            return super().send(*args, **kwargs)
        except requests.exceptions.InvalidHeader as error:
            (refused, *_) = error.args or (None,)
            if not isinstance(refused, InvalidRequestError):
                raise
            raise InvalidRequest(str(refused), request=error.request) from refused

    def init_poolmanager(
        self,
        connections: int,
        maxsize: int,
        block: bool = requests.adapters.DEFAULT_POOLBLOCK,
        **pool_kwargs: typing.Any,
    ) -> None:
        """Make the manager of direct connections (a method that requests documents for overriding)."""
        self._pool_connections = connections
        self._pool_maxsize = maxsize
        self._pool_block = block
        self.poolmanager = PoolManager(
            num_pools=connections, maxsize=maxsize, block=block, **pool_kwargs, **self._onewrite_keywords
        )

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: typing.Any) -> typing.Any:
        """Make the manager for *proxy*, once (a method that requests documents for overriding)."""
        if proxy in self.proxy_manager:
            return self.proxy_manager[proxy]
        keywords = {
            "num_pools": self._pool_connections,
            "maxsize": self._pool_maxsize,
            "block": self._pool_block,
            **proxy_kwargs,
            **self._onewrite_keywords,
        }
        if proxy.lower().startswith("socks"):
            from ._urllib3.socks import SOCKSProxyManager

            username, password = requests.utils.get_auth_from_url(proxy)
            manager: typing.Any = SOCKSProxyManager(proxy, username=username, password=password, **keywords)
        else:
            manager = ProxyManager(proxy, proxy_headers=self.proxy_headers(proxy), **keywords)
        self.proxy_manager[proxy] = manager
        return manager
