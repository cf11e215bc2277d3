"""The request head in one pass, with the checks and the bytes of urllib3's own way."""

from __future__ import annotations

import sys
import typing

import urllib3.connection
from urllib3.util import SKIP_HEADER

from . import _fast, _floor, _record, _write

#: Methods for which urllib3 announces no length when there is no body.
_NO_BODY = frozenset(("GET", "HEAD", "DELETE", "TRACE", "OPTIONS", "CONNECT"))

#: Methods that were found right before.
_methods: set[str] = set()
_MOST_METHODS = 64


def head(conn: typing.Any, method: str, url: str, headers: typing.Any, body_length: int | None) -> bytes | None:
    """The whole head with *body_length* announced, or None where urllib3's own way should write it.

    Raises InvalidRequestError for what the floor refuses.
    """
    if method not in _methods:
        _floor.check_line(method, "/")
        if len(_methods) < _MOST_METHODS:
            _methods.add(method)
    if _floor._target_control(url) or not url.startswith("/"):
        return None
    lines = []
    seen = set()
    names = _floor._names
    for name, value in headers.items():
        if type(name) is not str or type(value) is not str:
            return None
        lower = names.get(name) or _floor.checked_name(name)
        seen.add(lower)
        if _floor._value_control(value):
            return None  # the floor says it in its own words
        if value == SKIP_HEADER:
            return None
        lines.append(f"{name}: {value}\r\n")
    if "content-length" in seen or "transfer-encoding" in seen or "expect" in seen or "host" in seen:
        return None
    start = f"{method} {url} HTTP/1.1\r\n{conn._onewrite_host}"
    if "accept-encoding" not in seen:
        start += "Accept-Encoding: identity\r\n"
    if body_length is not None:
        start += f"Content-Length: {body_length}\r\n"
    if "user-agent" not in seen:
        start += f"User-Agent: {urllib3.connection._get_default_user_agent()}\r\n"
    text = start + "".join(lines) + "\r\n"
    if not url.isascii():
        return None
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return None


def learn_host(conn: typing.Any, first: typing.Any) -> None:
    """Remember the Host line that urllib3's own way wrote: it knows all about ports, tunnels and IPv6."""
    end = first.find(b"\r\n\r\n")
    for line in bytes(first[:end]).split(b"\r\n")[1:3]:
        if line.startswith(b"Host: "):
            conn._onewrite_host = line.decode("latin-1") + "\r\n"
            conn._onewrite_host_of = conn._dns_host, conn.port, conn._tunnel_host, conn._tunnel_port
            return


def request(
    conn: typing.Any, method: str, url: str, body: typing.Any, headers: typing.Any, extra: dict[str, typing.Any]
) -> bool:
    """Send the request the short way and return True; or do nothing and return False."""
    host = conn._onewrite_host
    sock = conn.sock
    if (
        host is None
        or sock is None
        or headers is None
        or conn.debuglevel > 0
        or extra.get("chunked")
        or conn._onewrite_host_of != (conn._dns_host, conn.port, conn._tunnel_host, conn._tunnel_port)
        or sock is not conn._onewrite_sock
        or not _fast.own_methods(type(conn))
        or not _fast.writes_untouched()
    ):
        return False
    if body is None:
        data = b""
        length = None if method.upper() in _NO_BODY else 0
    elif type(body) is bytes:
        data = body
        length = len(body)
    elif type(body) is str:
        data = body.encode("utf-8")
        length = len(data)
    else:
        return False
    previous = conn._HTTPConnection__response
    if conn._HTTPConnection__state != "Idle" or (previous is not None and not previous.isclosed()):
        return False
    first = head(conn, method, url, headers, length)
    if first is None:
        return False
    options = conn._onewrite_options
    sock.settimeout(conn.timeout)
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
    sys.audit("http.client.send", conn, first)
    if data:
        sys.audit("http.client.send", conn, data)
    attempt = conn._onewrite_attempt
    if attempt is None:
        _send(sock, first, data, options.coalesce_max)
        return True
    _record.request_start(conn, attempt)
    attempt.writes = _send(sock, first, data, options.coalesce_max)
    attempt.bytes_sent = len(first) + len(data)
    return True


def _send(sock: typing.Any, first: bytes, data: bytes, coalesce_max: int) -> int:
    if not data:
        sock.sendall(first)
        return 1
    size = len(first) + len(data)
    if size <= coalesce_max:
        sock.sendall(first + data)
        return 1
    return _write.write(sock, [first, data], size, coalesce_max)
