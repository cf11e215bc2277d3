"""One HTTP request, one write, over urllib3: TCP_NODELAY on, and a record of where the time went.

- :class:`PoolManager`, :class:`ProxyManager`, the pools and connections: urllib3's own with that added;
- :func:`install`: the same for every user of urllib3 in this process;
- :func:`status`: what is patched, or switched off, and why;
- :class:`onewrite.requests.Adapter`: for one requests session;
- :mod:`onewrite.httpx`: for httpx and httpcore;
- :mod:`onewrite.opentelemetry`: phases on spans, records as log events, metrics;
- ``on_timing``: a callable that gets the :class:`Timing` of each call.
"""

from __future__ import annotations

from . import _base_version, _config
from ._errors import OnewriteError, UnsupportedBaseError
from ._install import Status, install, status, uninstall
from ._settings import Installation
from ._timing.events import Event, TimingListener
from ._timing.hooks import hook_failures
from ._timing.kernel import KernelEvidence
from ._timing.record import Attempt, Timing
from ._urllib3.connection import HTTPConnection, HTTPSConnection
from ._urllib3.manager import PoolManager, ProxyManager
from ._urllib3.pool import HTTPConnectionPool, HTTPSConnectionPool
from ._version import __version__ as __version__

_reason = None if _config.DEFAULTS.disabled else _base_version.unsupported_version()
if _reason is not None:
    _config.log.warning("%s", _reason)

__all__ = [
    "Attempt",
    "Event",
    "HTTPConnection",
    "HTTPConnectionPool",
    "HTTPSConnection",
    "HTTPSConnectionPool",
    "Installation",
    "KernelEvidence",
    "OnewriteError",
    "PoolManager",
    "ProxyManager",
    "Status",
    "Timing",
    "TimingListener",
    "UnsupportedBaseError",
    "hook_failures",
    "install",
    "status",
    "uninstall",
]
