"""Which urllib3 this is, and whether it has the names that onewrite replaces or reads."""

from __future__ import annotations

import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.response
import urllib3.util.connection

from ._errors import UnsupportedBaseError

VERSION = str(getattr(urllib3, "__version__", ""))
IS_1 = VERSION.startswith("1.")


def _genuine(module: typing.Any, name: str) -> typing.Any:
    """Return the class that *module* defines as *name*, also where a recorder (vcrpy) has put one of its own there."""
    found = getattr(module, name)
    return next((cls for cls in found.__mro__ if (cls.__module__, cls.__name__) == (module.__name__, name)), found)


HTTPConnection = _genuine(urllib3.connection, "HTTPConnection")
HTTPSConnection = _genuine(urllib3.connection, "HTTPSConnection")

_NAMES: tuple[tuple[typing.Any, str], ...] = (
    (HTTPConnection, "_new_conn request send connect getresponse close auto_open"),
    (HTTPSConnection, "connect"),
    (urllib3.connectionpool.HTTPConnectionPool, "urlopen _get_conn _put_conn _new_conn ConnectionCls"),
    (urllib3.response.HTTPResponse, "__init__ close"),
    (urllib3.connection, "ssl_wrap_socket"),
    (urllib3.util.connection, "_set_socket_options"),
)


def unsupported() -> str | None:
    """Return why this urllib3 must be left alone, None where it is supported."""
    numbers = [int(part) if part.isdigit() else 0 for part in VERSION.split(".")[:3]]
    # It replaces urllib3 under the same name, and numbers its releases 2.x.9yy.
    if hasattr(urllib3, "AsyncPoolManager") or (len(numbers) == 3 and numbers[2] >= 900):
        return (
            f"the installed 'urllib3' {VERSION} is urllib3-future, which writes requests in its own way; "
            "to use onewrite: pip install --force-reinstall urllib3"
        )
    if not [1, 26] <= numbers[:2] < [3, 0]:
        return f"urllib3 {VERSION!r} is not supported; onewrite supports 1.26 and 2.x"
    missing = [name for owner, names in _NAMES for name in names.split() if not hasattr(owner, name)]
    return f"urllib3 {VERSION} lacks what onewrite relies on: {', '.join(missing)}" if missing else None


def require() -> None:
    """Raise UnsupportedBaseError unless this urllib3 is supported."""
    reason = unsupported()
    if reason:
        raise UnsupportedBaseError(reason)
