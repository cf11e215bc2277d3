"""What a request's body is: held whole, read promptly, or a source that may block."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import typing

WHOLE = "whole"  # in memory: every piece is at hand
PROMPT = "prompt"  # read piece by piece, but never waits for anyone: regular files, BytesIO, lists
BLOCKING = "blocking"  # iterators, pipes, sockets: the next piece may be minutes away

#: requests-toolbelt's encoder of forms, whose parts are bytes and files, and the one that reports what was read.
_MULTIPART = "requests_toolbelt.multipart.encoder"
_MULTIPART_ENCODERS = ("MultipartEncoder", "MultipartEncoderMonitor")

_MEMORY_READS = (io.BytesIO.read, io.StringIO.read)


def kind(body: typing.Any) -> str:
    """Tell which of the three *body* is. Anything not known to be prompt may block."""
    if body is None or isinstance(body, (bytes, str, bytearray, memoryview)):
        return WHOLE
    if isinstance(body, (list, tuple)):
        return PROMPT
    if hasattr(body, "read"):
        return PROMPT if _reads_promptly(body) else BLOCKING
    try:
        memoryview(body)
    except TypeError:
        return BLOCKING
    return WHOLE


def _reads_promptly(body: typing.Any) -> bool:
    if getattr(type(body), "read", None) in _MEMORY_READS:
        return True
    if type(body).__module__ == _MULTIPART and type(body).__name__ in _MULTIPART_ENCODERS:
        return all(_part_reads_promptly(part.body) for part in getattr(body, "encoder", body).parts)
    # A wrapper that only forwards fileno() may throttle its read(); the standard library's do not.
    if not isinstance(body, (io.IOBase, tempfile._TemporaryFileWrapper)):
        return False
    try:
        return stat.S_ISREG(os.fstat(body.fileno()).st_mode)
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _part_reads_promptly(part: typing.Any) -> bool:
    """Whether a part of a MultipartEncoder does: bytes are in a BytesIO there, files in a wrapper with ``fd``."""
    return isinstance(part, io.BytesIO) or _reads_promptly(getattr(part, "fd", None))


def size(body: typing.Any) -> int | None:
    """How many bytes a binary *body* still has, where that can be told without reading it."""
    if body is None:
        return 0
    if isinstance(body, bytes):
        return len(body)
    if isinstance(body, (bytearray, memoryview)):
        return memoryview(body).nbytes
    if isinstance(body, io.BytesIO) and type(body).read is io.BytesIO.read:
        try:
            return max(body.getbuffer().nbytes - body.tell(), 0)
        except (OSError, ValueError):  # one that cannot tell where it is, or is closed: the base library's to say
            return None
    return None
