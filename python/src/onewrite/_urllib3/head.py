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
    if url[:1] != "/" or ":" in host or "%" in host or not host.isascii():
        return None
    try:
        text = _lines(headers, length)
    except InvalidRequestError:
        return None  # said in its own words there
    if text is None or not validate.plain_line(method, url):
        return None
    given, lines = text
    port = "" if conn.port == conn.default_port else f":{conn.port}"
    head = (
        f"{method} {url} HTTP/1.1\r\n"
        f"{'' if 'host' in given else f'Host: {host}{port}{_BREAK}'}"
        f"{'' if 'accept-encoding' in given else _IDENTITY}"
        f"{'' if length is None or 'content-length' in given else f'Content-Length: {length}{_BREAK}'}"
        f"{'' if 'user-agent' in given else f'User-Agent: {urllib3.connection._get_default_user_agent()}{_BREAK}'}"
        f"{lines}\r\n"
    )
    try:
        return head.encode("latin-1"), data
    except UnicodeEncodeError:
        return None


_BREAK = "\r\n"
_IDENTITY = "Accept-Encoding: identity\r\n"


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


class _NoFile:
    """Given to HTTPResponse for a socket: the response gets its file later."""

    @staticmethod
    def makefile(mode: str) -> None:
        """No file."""


class Answer(typing.NamedTuple):
    """A response without a file, as far as ``http.client.HTTPResponse.begin`` brings one."""

    response: http.client.HTTPResponse
    fields: list[tuple[str, str]]
    #: Where the body begins.
    end: int


def read(data: bytes, method: str) -> Answer | None:
    """What the head at the start of *data* answers, or None: not plain, not final, or not here as a whole.

    The grammar is narrower than RFC 9112, 2 to 5: HTTP/1.0 or 1.1, header lines of ``token ":" value`` with
    printable ASCII and tabs, no folding, at most 99 lines.
    """
    found = _head(data)
    if found is None:
        return None
    version, status, reason, lines = found.groups()
    fields = _fields(lines.decode("ascii"))
    if len(fields) > _MOST_LINES:
        return None
    response: typing.Any = http.client.HTTPResponse(_NoFile, method=method)  # type: ignore[arg-type]
    message = http.client.HTTPMessage()
    message.set_payload("")
    for name, value in fields:
        message.set_raw(name, value)
    response.headers = response.msg = message
    response.version = 11 if version == b"1" else 10
    response.code = response.status = int(status)
    response.reason = reason.decode("ascii").strip()
    _frame(response, method, fields)
    return Answer(response, fields, found.end())


def _frame(response: typing.Any, method: str, fields: list[tuple[str, str]]) -> None:
    first = {name.lower(): value for name, value in reversed(fields)}
    response.chunked = chunked = first.get("transfer-encoding", "").lower() == "chunked"
    if chunked:
        response.chunk_left = None
    if response.version == 11:
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
    if response.status in (204, 304) or method == "HEAD":
        response.length = 0
    if not response.will_close and not chunked and response.length is None:
        response.will_close = True
