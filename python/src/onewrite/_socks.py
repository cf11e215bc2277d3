"""urllib3's SOCKS support over our connections; imported only when a SOCKS proxy is used."""

from __future__ import annotations

import typing

from urllib3.contrib import socks

from ._connection import _OneWrite
from ._fast_response import Below
from ._pool import _Manager, _Pool


class _SOCKSConnection(_OneWrite, socks.SOCKSConnection, Below):
    pass


class _SOCKSHTTPSConnection(_OneWrite, socks.SOCKSHTTPSConnection, Below):
    pass


class _SOCKSHTTPConnectionPool(_Pool, socks.SOCKSHTTPConnectionPool):
    ConnectionCls = _SOCKSConnection


class _SOCKSHTTPSConnectionPool(_Pool, socks.SOCKSHTTPSConnectionPool):
    ConnectionCls = _SOCKSHTTPSConnection


class SOCKSProxyManager(_Manager, socks.SOCKSProxyManager):
    """urllib3's SOCKSProxyManager whose requests leave in one write."""

    _own_pool_classes: typing.ClassVar[dict[str, typing.Any]] = {
        "http": _SOCKSHTTPConnectionPool,
        "https": _SOCKSHTTPSConnectionPool,
    }
