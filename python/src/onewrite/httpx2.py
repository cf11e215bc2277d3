"""What :mod:`onewrite.httpx` is, for httpx2 and httpcore2."""

from __future__ import annotations

import httpcore2
import httpx2

from ._httpcore.install import install, uninstall
from ._httpcore.pool import Asynchronous, Blocking

__all__ = ["AsyncConnectionPool", "AsyncTransport", "ConnectionPool", "Transport", "install", "uninstall"]


class Transport(Blocking, httpx2.HTTPTransport):
    """As in :mod:`onewrite.httpx`."""


class AsyncTransport(Asynchronous, httpx2.AsyncHTTPTransport):
    """As in :mod:`onewrite.httpx`."""


class ConnectionPool(Blocking, httpcore2.ConnectionPool):
    """As in :mod:`onewrite.httpx`."""


class AsyncConnectionPool(Asynchronous, httpcore2.AsyncConnectionPool):
    """As in :mod:`onewrite.httpx`."""
