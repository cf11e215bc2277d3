"""The head of a plain request in one pass, and that of a plain response by one strict regular expression.

``written`` gives the bytes that urllib3's own way would send; ``read`` the fields that http.client and
email.parser would find. What is not plain is left to them, untouched.
"""

from __future__ import annotations

import http.client
import re
import typing

import urllib3.connection
from urllib3.util import SKIP_HEADER

from .._errors import InvalidRequestError
from .._wire import validate

#: Methods for which urllib3 announces no length when there is no body.
_NO_BODY = frozenset(("GET", "HEAD", "DELETE", "TRACE", "OPTIONS", "CONNECT"))
#: Header fields with which the request is framed in another way.
_FRAMING = frozenset(("transfer-encoding", "expect"))


def written(
    conn: typing.Any, method: str, url: str, body: typing.Any, headers: typing.Any
) -> tuple[bytes, bytes] | None:
    """Head and body of the request, or None where urllib3's own way should write it, or refuse it."""
    length: int | None
    if type(body) is bytes:
        data = body
        length = len(data)
    elif body is None:
        data = b""
        length = None if method.upper() in _NO_BODY else 0
    elif type(body) is str:
        data = body.encode("utf-8")
        length = len(data)
    else:
        return None
    host = conn.host
    if url[:1] != "/" or ":" in host or "%" in host or not host.isascii() or not validate.plain(url):
        return None
    try:
        validate.check_line(method, url)
        text = _lines(headers, length)
    except InvalidRequestError:
        return None  # said in its own words there
    if text is None:
        return None
    given, lines = text
    port = "" if conn.port == conn.default_port else f":{conn.port}"
    head = (
        f"{method} {url} HTTP/1.1\r\n"
        f"{'' if 'host' in given else f'Host: {host}{port}{_BREAK}'}"
        f"{'' if 'accept-encoding' in given else _IDENTITY}"
        f"{'' if length is None or 'content-length' in given else f'Content-Length: {length}{_BREAK}'}"
        f"{'' if 'user-agent' in given else f'User-Agent: {_user_agent()}{_BREAK}'}"
        f"{lines}\r\n"
    )
    try:
        return head.encode("latin-1"), data
    except UnicodeEncodeError:
        return None


_BREAK = "\r\n"
_IDENTITY = "Accept-Encoding: identity\r\n"


def _user_agent() -> str:
    return urllib3.connection._get_default_user_agent()


def _lines(headers: typing.Any, length: int | None) -> tuple[set[str], str] | None:
    """The names given, in lower case, and the header lines; None where one of them is not plain."""
    lines = ""
    given = set()
    for name, value in validate.pairs(headers) if headers is not None else ():
        if type(name) is not str or type(value) is not str:
            return None
        lower = validate.checked_name(name)
        if not value.isascii() or not value.isprintable() or value == SKIP_HEADER:
            return None
        if lower == "content-length" and (lower in given or value != str(length or 0)):
            return None
        given.add(lower)
        lines += f"{name}: {value}\r\n"
    return (given, lines) if given.isdisjoint(_FRAMING) else None


_LINE = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[ \t]*(?:[\x21-\x7e][\x20-\x7e\t]*)?\r\n"
_head = re.compile(rb"HTTP/1\.([01]) ([2-9][0-9]{2}) ([\x20-\x7e]*)\r\n((?:" + _LINE + rb")*)\r\n").match
_fields = re.compile(r"([^:\r\n]+):[ \t]*([^\r\n]*)\r\n").findall

#: http.client refuses more header lines than this, the empty one aside; so it is asked.
_MOST_LINES = 99


class Head(typing.NamedTuple):
    """A final response's head."""

    version: int
    status: int
    reason: str
    items: list[tuple[str, str]]
    #: Where the body begins.
    end: int


def read(data: bytes) -> Head | None:
    """The head at the start of *data*, or None: not plain, not final, or not here as a whole.

    The grammar is narrower than RFC 9112, 2 to 5: HTTP/1.0 or 1.1, header lines of ``token ":" value`` with
    printable ASCII and tabs, no folding, at most 99 lines.
    """
    found = _head(data)
    if found is None:
        return None
    version, status, reason, lines = found.groups()
    items = _fields(lines.decode("ascii"))
    if len(items) > _MOST_LINES:
        return None
    return Head(11 if version == b"1" else 10, int(status), reason.decode("ascii").strip(), items, found.end())


def fill(response: typing.Any, method: str, head: Head) -> None:
    """Leave *response* as ``http.client.HTTPResponse.begin`` leaves it when it has read *head*."""
    version, status, reason, items, _ = head
    message = http.client.HTTPMessage()
    message.set_payload("")
    for name, value in items:
        message.set_raw(name, value)
    response.headers = response.msg = message
    response.version = version
    response.code = response.status = status
    response.reason = reason
    first = {name.lower(): value for name, value in reversed(items)}
    response.chunked = chunked = first.get("transfer-encoding", "").lower() == "chunked"
    if chunked:
        response.chunk_left = None
    if version == 11:
        response.will_close = "close" in first.get("connection", "").lower()
    else:
        response.will_close = response._check_close()
    response.length = None
    length = first.get("content-length")
    if length and not chunked:
        try:
            number = int(length)
        except ValueError:  # also more digits than Python converts
            number = -1
        response.length = number if number >= 0 else None
    if status in (204, 304) or method == "HEAD":
        response.length = 0
    if not response.will_close and not chunked and response.length is None:
        response.will_close = True
