"""One write per request for httpx, and for the SDKs that build their clients on it.

- :class:`Transport`, :class:`AsyncTransport`: for one client: ``httpx.Client(transport=Transport())``;
- :class:`ConnectionPool`, :class:`AsyncConnectionPool`: for httpcore without httpx;
- :func:`install`: for every client of either httpx made after it.

Each takes what its base class takes, ``on_timing`` and ``listener`` as :class:`onewrite.PoolManager` does, and
onewrite's options. Redirects are followed above: each hop is a call of its own. HTTP/2 is left as it is.
"""

from __future__ import annotations

import httpcore
import httpx

from ._httpcore.install import install, uninstall
from ._httpcore.pool import Asynchronous, Blocking

__all__ = ["AsyncConnectionPool", "AsyncTransport", "ConnectionPool", "Transport", "install", "uninstall"]


class Transport(Blocking, httpx.HTTPTransport):
    """httpx's HTTPTransport, directly or through its ``proxy``, whose requests leave in one write."""


class AsyncTransport(Asynchronous, httpx.AsyncHTTPTransport):
    """The same for asyncio and trio."""


class ConnectionPool(Blocking, httpcore.ConnectionPool):
    """httpcore's ConnectionPool, directly or through its ``proxy``, whose requests leave in one write."""


class AsyncConnectionPool(Asynchronous, httpcore.AsyncConnectionPool):
    """The same for asyncio and trio."""
