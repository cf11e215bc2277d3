"""Reading a response: interim responses are skipped, the times are taken.

http.client makes the response object inside ``getresponse`` and reads the head at once, so there is one
way to be there in time: for the length of that call the connection's ``response_class`` is a function
that makes the usual object and puts two of its methods under watch. The seam, which has made the first
read itself, does the same with a file that begins with those bytes.
"""

from __future__ import annotations

import functools
import http.client
import inspect
import io
import typing
import weakref

import urllib3.connection
import urllib3.response
from urllib3._collections import HTTPHeaderDict

from .. import _base_version
from .._timing import attempt as moments
from .._timing.attempt import now
from .._timing.record import Attempt, Timing
from .._wire import quickack
from . import head as heads
from .state import acquire

#: Interim responses that are skipped; with more of them the response is an error.
MOST_INTERIM = 100

#: As much as http.client's own file reads at once, at most one TLS record.
_READ = min(io.DEFAULT_BUFFER_SIZE, 16384)


# -- http.client's way --------------------------------------------------------------------------------


def getresponse(conn: typing.Any, original: typing.Callable[..., typing.Any], **extra: typing.Any) -> typing.Any:
    """Call *original* under watch. http.client makes the response object in there and reads its head at once."""
    if conn._onewrite_options.disabled:
        return original(**extra)
    attempt: Attempt | None = conn._onewrite_attempt
    if attempt is not None and attempt._end:
        attempt = None  # left there when install() was undone
    own = conn.__dict__.get("response_class")
    conn.response_class = functools.partial(_made, conn, attempt, conn.response_class)
    if attempt is not None:
        attempt._in_response = True
    try:
        response = original(**extra)
        if attempt is not None:
            _got(attempt, response)
        return response
    except BaseException as error:
        if attempt is not None:
            moments.failed(attempt, error)
        raise
    finally:
        if attempt is not None:
            attempt._in_response = False
        if own is None:
            conn.__dict__.pop("response_class", None)
        else:
            conn.response_class = own


def _made(
    conn: typing.Any,
    attempt: Attempt | None,
    make: typing.Any,
    sock: typing.Any,
    *args: typing.Any,
    **kwargs: typing.Any,
) -> typing.Any:
    response = make(sock, *args, **kwargs)
    first, conn._onewrite_first = conn._onewrite_first, None
    quick = conn._onewrite_options.quickack
    if (first is not None or quick) and isinstance(getattr(response, "fp", None), io.BufferedReader):
        data, reads = (None, 0) if first is None else (first[0], 1)
        response.fp = io.BufferedReader(quickack.Raw(response.fp.detach(), sock, quick, data, reads))
    if hasattr(response, "_read_status"):
        _watch(conn, attempt, response, 0 if first is None else first[1])
    return response


def _watch(conn: typing.Any, attempt: Attempt | None, response: typing.Any, read_at: int = 0) -> None:
    """Put *response* under watch until its head is read; the watchers then go, and no cycle stays.

    What is in its buffer was read at *read_at*.
    """
    read_status = response._read_status
    begin = response.begin

    def watched_read_status() -> typing.Any:
        nonlocal read_at
        for _ in range(MOST_INTERIM):
            # With an empty buffer peek() reads once, so it returns with the first byte. What came in one read with an
            # interim response is in the buffer.
            if attempt is not None and hasattr(response.fp, "peek"):
                response.fp.peek(1)
            t_ns, read_at = read_at or (0 if attempt is None else now()), 0
            found = read_status()
            status = found[1]
            if not 100 <= status < 200 or status == 101:
                if attempt is not None:
                    _answered(conn, attempt, t_ns)
                return found
            if attempt is not None:
                moments.informational(attempt, status)
            if status == 100:
                return found  # http.client itself skips a 100, and no other
            http.client._read_headers(response.fp)  # type: ignore[attr-defined]
        raise http.client.HTTPException(f"got more than {MOST_INTERIM} interim responses")

    def watched_begin(*args: typing.Any, **kwargs: typing.Any) -> None:
        try:
            begin(*args, **kwargs)
        finally:
            response.__dict__.pop("begin", None)
            response.__dict__.pop("_read_status", None)
        if attempt is not None:
            _head_read(attempt, response)

    response._read_status = watched_read_status
    response.begin = watched_begin


def _answered(conn: typing.Any, attempt: Attempt, t_ns: int) -> None:
    if not attempt._acquired and conn.sock is not None:
        acquire(conn, attempt, True)  # the request was sent while install() was undone
    moments.response_start(attempt, t_ns, conn.sock)


def _head_read(attempt: Attempt, http_response: typing.Any) -> None:
    attempt._http = http_response
    attempt._expected = http_response.length
    moments.headers_end(attempt, http_response.status, http_response.headers.get_all("Server-Timing"))


# -- the seam's way -----------------------------------------------------------------------------------

_parameters = inspect.signature(urllib3.response.HTTPResponse.__init__).parameters
#: Those that are not in every 2.x.
_HAS_VERSION_STRING = "version_string" in _parameters
_HAS_SHUTDOWN = "sock_shutdown" in _parameters

#: Whether the seam knows how this urllib3 makes a response; urllib3 1.26 makes it elsewhere.
SUPPORTED = not _base_version.IS_V1 and _parameters.keys() <= {
    "self", "body", "headers", "status", "version", "version_string", "reason", "preload_content",
    "decode_content", "original_response", "pool", "connection", "msg", "retries", "enforce_content_length",
    "request_method", "request_url", "auto_close", "sock_shutdown",
}  # fmt: skip


def read(
    conn: typing.Any,
    method: str,
    url: str,
    preload_content: bool,
    decode_content: bool,
    enforce_content_length: bool,
) -> typing.Any:
    """Return what ``conn.getresponse()`` returns when a request was sent; raise what that raises."""
    attempt: Attempt | None = conn._onewrite_attempt
    sock = conn.sock
    try:
        data = sock.recv(_READ)
    except BaseException as error:
        if attempt is not None:
            moments.failed(attempt, error)
        if isinstance(error, ConnectionError):
            conn.close()  # as http.client does
        raise
    t_ns = 0 if attempt is None else now()
    answer = heads.read(data, method)
    if answer is None:
        conn._response_options = urllib3.connection._ResponseOptions(
            request_method=method,
            request_url=url,
            preload_content=preload_content,
            decode_content=decode_content,
            enforce_content_length=enforce_content_length,
        )
        conn._method = method
        conn._HTTPConnection__response = None
        conn._HTTPConnection__state = "Request-sent"
        conn._onewrite_first = data, t_ns
        return conn.getresponse()
    http_response, fields, end = answer
    body = data[end:]
    length = http_response.length
    if length is not None and len(body) >= length and not http_response.chunked:
        http_response.fp = io.BytesIO(body)  # type: ignore[assignment]
    else:
        raw = quickack.Raw(sock.makefile("rb", 0), sock, conn._onewrite_options.quickack, body or None, 1)
        http_response.fp = io.BufferedReader(raw)
    if attempt is not None:
        moments.response_start(attempt, t_ns, sock)
        _head_read(attempt, http_response)
        attempt._in_response = True
    shutdown = sock.shutdown
    if http_response.will_close:
        conn.close()
    else:
        conn._HTTPConnection__response = http_response
    headers = HTTPHeaderDict()
    for name, value in fields:
        headers.add(name, value)
    more: dict[str, typing.Any] = {}
    if _HAS_VERSION_STRING:
        more["version_string"] = getattr(conn, "_http_vsn_str", "HTTP/?")
    if _HAS_SHUTDOWN:
        more["sock_shutdown"] = shutdown
    try:
        response = urllib3.response.HTTPResponse(
            body=http_response,
            headers=headers,
            status=http_response.status,
            version=http_response.version,
            reason=http_response.reason,
            preload_content=preload_content,
            decode_content=decode_content,
            original_response=http_response,
            enforce_content_length=enforce_content_length,
            request_method=method,
            request_url=url,
            **more,
        )
        if attempt is not None:
            _got(attempt, response)
        return response
    except BaseException as error:
        if attempt is not None:
            moments.failed(attempt, error)
        http_response.close()
        raise
    finally:
        if attempt is not None:
            attempt._in_response = False


# -- the body -----------------------------------------------------------------------------------------


def _got(attempt: Attempt, response: typing.Any) -> None:
    """urllib3's response is made; with preload_content its body has been read by now."""
    http_response = attempt._http
    if http_response is None:
        return
    # urllib3 1.26 makes its own object later; where the length is announced nobody needs to count.
    if response is not http_response:
        _count(attempt, response)
    if http_response.isclosed():
        body_read(attempt, now())


def returned(call: Timing, response: typing.Any) -> None:
    """urllib3 1.26 makes its response after getresponse: here it is. Count what nobody has announced."""
    attempt = call._last()
    if attempt is None or (attempt._http is None and not attempt._response_end):
        return
    if attempt._response_end:
        if attempt._expected is None and hasattr(response, "tell"):
            attempt.bytes_received = response.tell()
    else:
        _count(attempt, response)


def _count(attempt: Attempt, response: typing.Any) -> None:
    if attempt._expected is not None or not hasattr(response, "tell"):
        return
    attempt._response = weakref.ref(response)
    if getattr(response, "chunked", False) and hasattr(response, "_update_chunk_length"):
        _count_chunks(attempt, response)


def _count_chunks(attempt: Attempt, response: typing.Any) -> None:
    """urllib3 counts no bytes when it reads chunk by chunk: add up the sizes as they are announced."""
    if response.tell():
        return
    update = type(response)._update_chunk_length
    weak = weakref.ref(response)

    def counted() -> None:
        response = weak()
        if response is None:
            return
        before = response.chunk_left
        update(response)
        if before is None:
            attempt.bytes_received = (attempt.bytes_received or 0) + max(response.chunk_left or 0, 0)

    response._update_chunk_length = counted


def body_read(attempt: Attempt, t_ns: int) -> None:
    """The body was read to its end."""
    received = attempt._expected
    if received is None and attempt.bytes_received is None and attempt._response is not None:
        response = attempt._response()
        if response is not None:
            received = response.tell()
    moments.response_end(attempt, t_ns, received)
