"""What onewrite keeps with a connection object, as its attribute ``_onewrite``."""

from __future__ import annotations

import typing

from ._config import Scope, installed
from ._record import Line, Record

#: A class that has one of these may write to its socket itself, and would overtake a head that is held.
_WRITERS = ("send", "endheaders", "_send_output")
#: Packages whose classes have them and do not: http.client and urllib3, and botocore's, which call the ones below.
_TRUSTED = frozenset(("http", "urllib3", "botocore"))


def _calls_send(cls: type) -> bool:
    return all(
        base.__module__.partition(".")[0] in _TRUSTED for base in cls.__mro__ for name in _WRITERS if name in vars(base)
    )


class Link:
    """Of one connection object. It does not refer to it: who frees a response that is not read frees the connection."""

    __slots__ = ("calls_send", "held", "is_prepared", "line", "owner", "record", "scope", "sock")

    def __init__(self, conn: typing.Any, scope: Scope) -> None:
        #: copy.copy(connection) copies the reference to this object: a copy is known by its other id.
        self.owner = id(conn)
        self.scope = scope
        self.calls_send = _calls_send(type(conn))
        #: What waits for the rest of its request; b"" before the head, None where nothing is held.
        self.held: bytes | None = None
        #: The record of the request that the connection carries.
        self.record: Record | None = None
        #: The socket that was seen last, what is kept of it, and whether TCP_NODELAY was set when it connected.
        self.sock: typing.Any = None
        self.line = Line(None, None)
        self.is_prepared = False

    def __reduce__(self) -> typing.Any:
        """Become None in a pickle or a deep copy of the connection."""
        return type(None), ()


def link_of(conn: typing.Any) -> Link:
    """Return the link of *conn*, made if need be."""
    link: Link | None = getattr(conn, "_onewrite", None)
    if link is None or link.owner != id(conn):
        link = Link(conn, installed if link is None else link.scope)
        object.__setattr__(conn, "_onewrite", link)  # a class may have a __setattr__ of its own
    return link
