"""The request head in one pass, with the checks and the bytes of urllib3's own way."""

from __future__ import annotations

import sys
import typing

import urllib3.connection
from urllib3.util import SKIP_HEADER

from . import _fast, _floor, _moments, _write
from ._errors import InvalidRequestError

#: Methods for which urllib3 announces no length when there is no body.
_NO_BODY = frozenset(("GET", "HEAD", "DELETE", "TRACE", "OPTIONS", "CONNECT"))

#: Methods that were found right before.
_methods: set[str] = set()
_MOST_METHODS = 64


#: Header fields that change how the request is framed or addressed: for urllib3's own way.
_FRAMING = frozenset(("content-length", "transfer-encoding", "expect", "host"))


def head(conn: typing.Any, method: str, url: str, headers: typing.Any, body_length: int | None) -> bytes | None:
    """The whole head with *body_length* announced, or None where urllib3's own way should write it.

    Raises InvalidRequestError for what the floor refuses.
    """
    if method not in _methods:
        _floor.check_line(method, "/")
        if len(_methods) < _MOST_METHODS:
            _methods.add(method)
    if not _floor.plain(url) or url[:1] != "/":
        return None
    lines = ""
    seen = set()
    names = _floor._names
    for name, value in _floor.pairs(headers):
        if type(name) is not str or type(value) is not str:
            return None
        seen.add(names.get(name) or _floor.checked_name(name))
        if not (value.isascii() and value.isprintable()) and _floor._value_control(value):
            return None  # the floor says it in its own words
        if value == SKIP_HEADER:
            return None
        lines += f"{name}: {value}\r\n"
    if not seen.isdisjoint(_FRAMING):
        return None
    text = (
        f"{method} {url} HTTP/1.1\r\n{conn._onewrite_host}"
        f"{'' if 'accept-encoding' in seen else _IDENTITY}"
        f"{'' if body_length is None else f'Content-Length: {body_length}{_BREAK}'}"
        f"{'' if 'user-agent' in seen else f'User-Agent: {urllib3.connection._get_default_user_agent()}{_BREAK}'}"
        f"{lines}\r\n"
    )
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return None


_BREAK = "\r\n"
_IDENTITY = "Accept-Encoding: identity\r\n"


def pieces(
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
    try:
        first = head(conn, method, url, headers, length)
    except InvalidRequestError:
        return None
    return None if first is None else (first, data)


def learn_host(conn: typing.Any, first: typing.Any) -> None:
    """Remember the Host line that urllib3's own way wrote: it knows all about ports, tunnels and IPv6."""
    end = first.find(b"\r\n\r\n")
    for line in bytes(first[:end]).split(b"\r\n")[1:3]:
        if line.startswith(b"Host: "):
            conn._onewrite_host = line.decode("latin-1") + "\r\n"
            conn._onewrite_host_of = conn._dns_host, conn.port, conn._tunnel_host, conn._tunnel_port
            return


def host_known(conn: typing.Any) -> bool:
    """Whether the Host line was learned, and is still that of this connection."""
    return bool(conn._onewrite_host_of == (conn._dns_host, conn.port, conn._tunnel_host, conn._tunnel_port))


def note(conn: typing.Any, method: str, url: str, extra: dict[str, typing.Any]) -> None:
    """Leave *conn* as urllib3 and http.client leave it when a request was sent."""
    conn._response_options = urllib3.connection._ResponseOptions(
        request_method=method,
        request_url=url,
        preload_content=extra.get("preload_content", True),
        decode_content=extra.get("decode_content", True),
        enforce_content_length=extra.get("enforce_content_length", True),
    )
    conn._HTTPConnection__response = None
    conn._HTTPConnection__state = "Request-sent"
    conn._method = method


def request(
    conn: typing.Any, method: str, url: str, body: typing.Any, headers: typing.Any, extra: dict[str, typing.Any]
) -> bool:
    """Send the request the short way and return True; or do nothing and return False."""
    sock = conn.sock
    if (
        sock is None
        or headers is None
        or conn.debuglevel > 0
        or extra.get("chunked")
        or not host_known(conn)
        or sock is not conn._onewrite_sock
        or not _fast.own_methods(type(conn))
        or not _fast.writes_untouched()
    ):
        return False
    previous = conn._HTTPConnection__response
    if conn._HTTPConnection__state != "Idle" or (previous is not None and not previous.isclosed()):
        return False
    made = pieces(conn, method, url, body, headers)
    if made is None:
        return False
    first, data = made
    sock.settimeout(conn.timeout)
    note(conn, method, url, extra)
    sys.audit("http.client.send", conn, first)
    if data:
        sys.audit("http.client.send", conn, data)
    attempt = conn._onewrite_attempt
    coalesce_max = conn._onewrite_options.coalesce_max
    if attempt is None:
        send(sock, first, data, coalesce_max)
        return True
    _moments.request_start(conn, attempt)
    attempt.writes = send(sock, first, data, coalesce_max)
    attempt.bytes_sent = len(first) + len(data)
    return True


def send(sock: typing.Any, first: bytes, data: bytes, coalesce_max: int) -> int:
    """Send head and body; return the number of writes."""
    if not data:
        sock.sendall(first)
        return 1
    size = len(first) + len(data)
    if size <= coalesce_max:
        sock.sendall(first + data)
        return 1
    return _write.write(sock, [first, data], size, coalesce_max)
