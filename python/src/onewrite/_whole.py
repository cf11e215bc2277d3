"""An answer that came plain and whole with one read: urllib3's response made of it at once.

What urllib3's response has for attributes after its body was read is not written down here: it is learned
on import from two responses that urllib3 made, and where something about them is not as known, nobody
comes here (``KNOWN``).
"""

from __future__ import annotations

import io
import types
import typing

import urllib3.connection
import urllib3.response
from urllib3._collections import HTTPHeaderDict

from . import _fast, _fast_response
from ._fast_head import MOST_LINES, Response, fields_of, match_head, match_lines
from ._fast_response import BELOW, HTTPResponse

#: Fields of an answer that is for the ordinary way: framed otherwise, or to be decoded.
_NOT_PLAIN = frozenset(("transfer-encoding", "content-encoding", "connection", "keep-alive"))

#: Attributes that differ from one answer to the next; all others are as urllib3 leaves them after a read.
_VARYING = frozenset((
    *BELOW, "headers", "status", "reason", "_request_url", "_body", "_fp_bytes_read", "_decoded_buffer",
    "_sock_shutdown",
))  # fmt: skip

_template: dict[str, typing.Any] = {}


def whole(data: bytes, conn: typing.Any, method: str, url: str) -> HTTPResponse | None:
    """The response, read to its end, where *data* is one plain and whole answer; or None."""
    found = match_head(data)
    if found is None:
        return None
    version, code, reason, lines = found.groups()
    status = int(code)
    if version != b"1" or status < 200 or status in (204, 304) or 300 <= status < 400:
        return None
    items = match_lines(lines.decode("ascii"))
    if len(items) > MOST_LINES:
        return None
    fields = fields_of(items)
    length = fields.get("content-length")
    if length is None or len(length) != 2 or not length[1].isdigit() or not _NOT_PLAIN.isdisjoint(fields):
        return None
    end = found.end()
    size = len(data) - end
    if int(length[1]) != size:
        return None
    phrase = reason.decode("ascii").strip()
    headers = _new_headers(HTTPHeaderDict)
    headers._container = fields
    response = _new_response(HTTPResponse)
    own = response.__dict__
    own.update(_template)
    own["headers"] = headers
    own["status"] = status
    own["reason"] = phrase
    own["_request_url"] = url
    own["_body"] = data[end:]
    own["_fp_bytes_read"] = size
    own["_decoded_buffer"] = urllib3.response.BytesQueueBuffer()
    own["_sock_shutdown"] = conn.sock.shutdown
    own["_late"] = (status, phrase, items, method)
    return response


_new_headers = HTTPHeaderDict.__new__
_new_response = HTTPResponse.__new__


def _sample(data: bytes, method: str, url: str) -> bool:
    """Whether our response to *data* has the same attributes as urllib3's; the first one is learned from."""
    conn = types.SimpleNamespace(_http_vsn_str="HTTP/1.1", sock=types.SimpleNamespace(shutdown=None))
    sock: typing.Any = types.SimpleNamespace(makefile=lambda mode: io.BufferedReader(io.BytesIO(data)))
    read = Response(sock, method=method)
    read.begin()
    options = urllib3.connection._ResponseOptions(method, url, True, True, True)
    theirs = _fast_response.wrapped(conn, sock, read, options, None)
    if not _template:
        _template.update((name, value) for name, value in vars(theirs).items() if name not in _VARYING)
    ours = whole(data, conn, method, url)
    if ours is None or not vars(theirs).keys() <= {*vars(ours), *BELOW}:
        return False
    for name, value in vars(theirs).items():
        mine = getattr(ours, name)
        same = type(mine) is type(value) if name in (*BELOW, "_decoded_buffer") else mine == value
        if not same:
            return False
    return True


def _learned() -> bool:
    if not hasattr(urllib3.response, "BytesQueueBuffer") or urllib3.connection._ResponseOptions._fields != (
        "request_method", "request_url", "preload_content", "decode_content", "enforce_content_length",
    ):  # fmt: skip
        return False
    try:
        return _sample(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "POST", "/a") and _sample(
            b"HTTP/1.1 404 Not here\r\nA: b\r\nContent-Length: 0\r\na: c\r\n\r\n", "GET", "/b"
        )
    except (AttributeError, TypeError):
        return False


#: Whether ``whole`` gives what this urllib3 would.
KNOWN = _fast.SUPPORTED and _learned()
