"""Whether the head of a request may wait for its body.

Only where every piece of the body is at hand and no code of the caller runs to get it. That is decided by exact types
of the standard library and without calling anything of the body. A subclass may have a ``read`` or ``__iter__`` of its
own, and so may an object with an attribute of that name: then the head leaves first, as with the base library.
"""

from __future__ import annotations

import array
import io
import os
import stat
import typing

#: A body of one of these types runs no code of the caller.
PIECES: frozenset[type] = frozenset((bytes, str, bytearray, memoryview, array.array, type(None)))

_MEMORY_FILES: frozenset[type] = frozenset((io.BytesIO, io.StringIO))
_BUFFERED: frozenset[type] = frozenset((io.BufferedReader, io.BufferedRandom))


def at_hand(body: typing.Any) -> bool:
    """Return whether all of *body* can be read without waiting and without running code of the caller."""
    kind = type(body)
    if kind in PIECES:
        return True
    if kind is list or kind is tuple:
        return all(type(piece) in PIECES for piece in body)
    if kind in _MEMORY_FILES:
        return not vars(body)
    return _is_regular_file(body, kind)


def _is_regular_file(body: typing.Any, kind: type) -> bool:
    """Return whether *body* is an open regular file: reading it never waits for another program (poll(2))."""
    try:
        if kind in _BUFFERED:
            if "read" in vars(body) or "readinto" in vars(body):
                return False
            body, kind = body.raw, type(body.raw)
        if kind is not io.FileIO or not {"read", "readinto", "readall"}.isdisjoint(vars(body)):
            return False
        return stat.S_ISREG(os.fstat(body.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or detached: the base library raises its own error
        return False
