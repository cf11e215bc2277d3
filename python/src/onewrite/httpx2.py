"""What :mod:`onewrite.httpx` is, for httpx2 and httpcore2."""

from __future__ import annotations

import httpcore2
import httpx2

from ._httpcore.install import install, uninstall
from ._httpcore.pool import Asynchronous, Blocking

__all__ = ["AsyncConnectionPool", "AsyncTransport", "ConnectionPool", "Transport", "install", "uninstall"]


class Transport(Blocking, httpx2.HTTPTransport):
    """httpx2's HTTPTransport, directly or through its ``proxy``, whose requests leave in one write."""


class AsyncTransport(Asynchronous, httpx2.AsyncHTTPTransport):
    """The same for asyncio and trio."""


class ConnectionPool(Blocking, httpcore2.ConnectionPool):
    """httpcore2's ConnectionPool, directly or through its ``proxy``, whose requests leave in one write."""


class AsyncConnectionPool(Asynchronous, httpcore2.AsyncConnectionPool):
    """The same for asyncio and trio."""
