"""urllib3's SOCKS support over onewrite's connections; imported only when a SOCKS proxy is used."""

from __future__ import annotations

import typing

from urllib3.contrib import socks

from .connection import OneWrite
from .manager import Manager
from .pool import ConnectionClass, Pool


class _SOCKSConnection(OneWrite, socks.SOCKSConnection):
    pass


class _SOCKSHTTPSConnection(OneWrite, socks.SOCKSHTTPSConnection):
    pass


class _SOCKSHTTPConnectionPool(Pool, socks.SOCKSHTTPConnectionPool):
    ConnectionCls = ConnectionClass(_SOCKSConnection, socks.SOCKSHTTPConnectionPool, socks.SOCKSConnection)


class _SOCKSHTTPSConnectionPool(Pool, socks.SOCKSHTTPSConnectionPool):
    ConnectionCls = ConnectionClass(_SOCKSHTTPSConnection, socks.SOCKSHTTPSConnectionPool, socks.SOCKSHTTPSConnection)


class SOCKSProxyManager(Manager, socks.SOCKSProxyManager):
    """urllib3's SOCKSProxyManager whose requests leave in one write."""

    _own_pool_classes: typing.ClassVar[dict[str, typing.Any]] = {
        "http": _SOCKSHTTPConnectionPool,
        "https": _SOCKSHTTPSConnectionPool,
    }
