"""urllib3's response over a head that was read the short way, or the standard one."""

from __future__ import annotations

import http.client
import io
import typing

import urllib3.connection
import urllib3.exceptions
import urllib3.response
from urllib3._collections import HTTPHeaderDict

from . import _fast, _moments, _raw
from ._fast_head import LARGEST, Items, Response
from ._timing import Attempt

#: Attributes of urllib3's response that hold the one of http.client.
BELOW = ("_fp", "_original_response")


class _NoSocket:
    """What http.client's response is made of when there is nothing left to read."""

    @staticmethod
    def makefile(mode: str) -> None:
        """No file."""


class HTTPResponse(urllib3.response.HTTPResponse):
    """urllib3's response; a chunk size that cannot be read is an error of urllib3's own.

    One that is made by ``whole`` has no response of http.client below it until someone asks for that.
    """

    #: Status, reason, header lines and method of an answer that came whole.
    _late: tuple[int, str, Items, str] | None = None

    def __getattr__(self, name: str) -> typing.Any:
        """The response of http.client, read to its end, when it is asked for."""
        if self._late is None or name not in BELOW:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        status, reason, items, method = self._late
        below = Response(typing.cast(typing.Any, _NoSocket), method=method)
        below._take(11, status, reason, items)
        below.length = 0
        for one in BELOW:
            self.__dict__.setdefault(one, below)
        return self.__dict__[name]

    @property
    def closed(self) -> bool:
        """Whether the answer was read to its end: see :attr:`urllib3.response.HTTPResponse.closed`."""
        return True if self._late is not None and self.auto_close else super().closed

    def _update_chunk_length(self) -> None:
        fresh = self.chunk_left is None
        super()._update_chunk_length()
        if fresh and self.chunk_left is not None and not 0 <= self.chunk_left <= LARGEST:
            size, self.chunk_left = self.chunk_left, None
            self.close()
            raise urllib3.exceptions.InvalidChunkLength(self, b"%x" % size)


def getresponse(conn: typing.Any, doing: typing.Any = None) -> typing.Any:
    """urllib3's getresponse over :class:`Response`, or None where urllib3's own way should do it.

    *doing* is the exchange that it goes on with, of which some bytes may have been read.
    """
    options = conn._response_options
    if options is None or conn._HTTPConnection__state != "Request-sent":
        return None
    previous = conn._HTTPConnection__response
    if previous is not None and not previous.isclosed():
        return None
    conn._response_options = None
    sock = conn.sock
    sock.settimeout(conn.timeout)
    attempt: Attempt | None = conn._onewrite_attempt
    shutdown = getattr(sock, "shutdown", None)
    read = Response(sock, method=conn._method)
    if attempt is not None:
        read._attempt, read._conn = attempt, conn
    try:
        try:
            if doing is not None:
                _go_on(conn, read, doing)
            read.begin()
        except ConnectionError:
            conn.close()
            raise
    except BaseException:
        read.close()
        raise
    read._attempt = read._conn = None
    conn._HTTPConnection__state = "Idle"
    if read.will_close:
        conn.close()
    else:
        conn._HTTPConnection__response = read
    if attempt is not None:
        attempt._http = read
        attempt._expected = read.length
        _moments.headers_end(attempt, read.status)
    return wrapped(conn, sock, read, options, shutdown)


def _go_on(conn: typing.Any, read: Response, doing: typing.Any) -> None:
    """Make *read* begin with what a straight exchange has read, or raise what that met with."""
    error, doing.read_error = doing.read_error, None
    if error is not None:
        raise error
    raw = read.fp.detach()
    if conn._onewrite_options.quickack:
        raw = _raw.acknowledging(raw, conn.sock, reads=1)
    read.fp = io.BufferedReader(_raw.Begun(raw, doing.answer))
    attempt = read._attempt
    if attempt is not None:
        read._read_at, attempt._response_start = attempt._response_start, 0
        attempt._phase = "wait"


def wrapped(
    conn: typing.Any, sock: typing.Any, http: Response, options: typing.Any, shutdown: typing.Any
) -> typing.Any:
    items = http._items
    if items is None:
        # The standard parser read it: what urllib3 makes of its faults is urllib3's.
        conn._response_options = options
        conn._onewrite_ready = http
        closed = conn.sock is None
        if closed:
            conn.sock = sock  # "Connection: close" took it off; urllib3 sets its timeout first
        try:
            response = _urllib3_getresponse(conn)
        finally:
            conn._onewrite_ready = None
            if closed:
                conn.sock = None
        if type(response) is urllib3.response.HTTPResponse:
            response.__class__ = HTTPResponse
        return response
    headers = HTTPHeaderDict()
    headers._container = http._fields
    keywords: dict[str, typing.Any] = {}
    if "version_string" in _fast.RESPONSE_PARAMETERS:
        keywords["version_string"] = getattr(conn, "_http_vsn_str", "HTTP/?")
    if "sock_shutdown" in _fast.RESPONSE_PARAMETERS:
        keywords["sock_shutdown"] = shutdown
    try:
        return HTTPResponse(
            body=http,
            headers=headers,
            status=http.status,
            version=http.version,
            reason=http.reason,
            preload_content=options.preload_content,
            decode_content=options.decode_content,
            original_response=http,
            enforce_content_length=options.enforce_content_length,
            request_method=options.request_method,
            request_url=options.request_url,
            **keywords,
        )
    except BaseException:
        http.close()  # lengths that differ: what has no owner yet would keep its socket open
        raise


_urllib3_getresponse = urllib3.connection.HTTPConnection.getresponse


class Below(http.client.HTTPConnection):
    """Stands below urllib3's class: hands it a response that was read already."""

    _onewrite_ready: Response | None = None

    def getresponse(self) -> typing.Any:
        """The response that is ready, or the next one."""
        ready = self._onewrite_ready
        return super().getresponse() if ready is None else ready
