"""One HTTP request, one write, over urllib3: TCP_NODELAY on, and a record of where the time went.

- :class:`PoolManager`, :class:`ProxyManager`, the pools and connections: urllib3's own with that added;
- :func:`install`: the same for every user of urllib3 in this process;
- :class:`onewrite.requests.Adapter`: for one requests session;
- ``on_timing``: a callable that gets the :class:`Timing` of each call.
"""

from __future__ import annotations

from . import _base, _options
from ._connection import HTTPConnection, HTTPSConnection
from ._errors import InvalidRequestError, OnewriteError, UnsupportedBaseError
from ._events import Event, TimingListener, hook_failures
from ._install import install, uninstall
from ._kernel import KernelEvidence
from ._pool import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from ._timing import Attempt, Timing

__version__ = "0.1.0"

_reason = _base.unsupported()
if _reason is not None:
    _options.log.warning("%s", _reason)

__all__ = [
    "Attempt",
    "Event",
    "HTTPConnection",
    "HTTPConnectionPool",
    "HTTPSConnection",
    "HTTPSConnectionPool",
    "InvalidRequestError",
    "KernelEvidence",
    "OnewriteError",
    "PoolManager",
    "ProxyManager",
    "Timing",
    "TimingListener",
    "UnsupportedBaseError",
    "hook_failures",
    "install",
    "uninstall",
]
