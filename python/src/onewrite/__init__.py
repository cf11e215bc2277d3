"""urllib3 that sends each request in one write, keeps TCP_NODELAY on, and says where the time went.

- :func:`install` does so for every urllib3 connection of the process, whoever makes it (requests, botocore, …);
- :class:`PoolManager`, :class:`ProxyManager` and :class:`onewrite.requests.Adapter` do so for their own connections;
- :mod:`onewrite.httpx` gives the timing of httpx's requests.

Importing onewrite imports no base library and changes nothing.
"""

from __future__ import annotations

import typing

from ._errors import UnsupportedBaseError
from ._install import install, status, uninstall
from ._kernel import Evidence
from ._record import Record

if typing.TYPE_CHECKING:
    from ._manager import PoolManager, ProxyManager

__version__ = "0.1.0"

__all__ = [
    "Evidence",
    "PoolManager",
    "ProxyManager",
    "Record",
    "UnsupportedBaseError",
    "__version__",
    "install",
    "status",
    "uninstall",
]


def __getattr__(name: str) -> typing.Any:
    """Import urllib3 for the classes that derive from it when one of them is used."""
    if name in ("PoolManager", "ProxyManager"):
        from . import _manager

        return getattr(_manager, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
