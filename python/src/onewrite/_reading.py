"""Watches a response being read: first byte, head, end; and asks for quick acknowledgements.

http.client makes the response object inside ``getresponse`` and reads the head at once, so there is one
way to be there in time: for the length of that call the connection's ``response_class`` is a function
that makes the usual object and puts two of its methods under watch.

For a call that goes plainly under install() there is a shorter way: ``response_class`` is a function on the class,
and the first byte is waited for before http.client reads the head.
"""

from __future__ import annotations

import http.client
import io
import typing
import weakref

import urllib3.connection

from . import _moments, _raw, _record
from ._timing import Attempt, Plain, Timing


def getresponse(conn: typing.Any, original: typing.Callable[..., typing.Any], **extra: typing.Any) -> typing.Any:
    """Call *original* under watch."""
    attempt = conn._onewrite_attempt
    if attempt is not None:
        attempt = _moments.followed(attempt)
    quickack = conn._onewrite_options.quickack and _raw.QUICKACK is not None
    if attempt is None and not quickack:
        return original(**extra)
    own = conn.__dict__.get("response_class")
    make = conn.response_class

    def response_class(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        response = make(*args, **kwargs)
        if quickack:
            _acknowledge_quickly(conn.sock, response)
        if attempt is not None:
            _watch(conn, attempt, response)
        return response

    conn.response_class = response_class
    if attempt is not None:
        attempt._in_response = True
    try:
        response = original(**extra)
        if attempt is not None:
            got(attempt, response)
        return response
    except BaseException as error:
        if attempt is not None:
            _moments.response_failed(attempt, error)
        raise
    finally:
        if attempt is not None:
            attempt._in_response = False
        if own is None:
            conn.__dict__.pop("response_class", None)
        else:
            conn.response_class = own


_Connection = urllib3.connection.HTTPConnection
_plain: typing.Any = http.client.HTTPResponse


def response_class(conn: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
    """Stand for ``response_class``: make a response; wait for its first byte where ``noted`` has asked for that."""
    make = _Connection.__base__.response_class  # type: ignore[union-attr]
    if not issubclass(type(conn), _Connection):  # taken from the class, and called with a socket
        return make(conn, *args, **kwargs)
    if make is not _plain:  # somebody's own, perhaps a function
        make = super(_Connection, conn).response_class
    response = make(*args, **kwargs)
    call = conn._onewrite_attempt
    if type(call) is not Plain or not call._answering:
        return response
    call._http = response
    if not hasattr(response.fp, "peek"):
        _watch(conn, _moments.followed(call), response)
        return response
    # Peeking reads once from the socket when nothing is there, so it returns with the first byte.
    try:
        start = response.fp.peek(1)
    except BaseException as error:  # as http.client deals with it
        if isinstance(error, ConnectionError):
            conn.close()
        response.close()
        raise
    t_ns = _record.now()
    if start[:_BEGIN] not in _FINAL:
        _watch(conn, _moments.followed(call), response, t_ns)  # an interim answer, or what may become one, or none
        return response
    call.answered(conn.sock, conn._onewrite_link, t_ns)
    return response


#: How a final answer begins, up to the first digit of its status.
_FINAL = frozenset(b"HTTP/1.%d %d" % (minor, status) for minor in (0, 1) for status in range(2, 10))
_BEGIN = 10


def noted(conn: typing.Any, call: Plain, original: typing.Callable[..., typing.Any]) -> typing.Any:
    """Call *original*, getresponse of a connection whose ``response_class`` is ours, for a call that goes plainly."""
    call._answering = True
    try:
        response = original(conn)
    except BaseException as error:
        http = call._http if type(call) is Plain else None
        attempt = _moments.followed(call)
        attempt._in_response = False
        if http is not None and type(http.status) is int:
            _moments.headers_end(attempt, http.status)
        _moments.response_failed(attempt, error)
        raise
    if type(call) is Plain:
        http = call._http
        if http is not None:
            if http.fp is None:  # its body has been read by now
                call._read = _record.now()
                call._http = None
                call._answering = False
                call.status = http.status
                call._received = 0 if response is http else response.tell()
                return response
            if response is http and http.length is not None:
                # urllib3 1.26 reads the body after this; most often all of it, before it releases the connection.
                call._answering = False
                call.status = http.status
                call._received = http.length
                return response
        call._http = None
    else:
        http = None
    attempt = _moments.followed(call)
    attempt._in_response = False
    if http is not None:
        attempt._http = http
        attempt._expected = http.length
        _moments.headers_end(attempt, http.status)
    got(attempt, response)
    return response


def _watch(conn: typing.Any, attempt: Attempt, response: typing.Any, read_at: int = 0) -> None:
    """Put *response* under watch until its head is read; the watchers then go, and no cycle stays.

    What is in its buffer was read at *read_at*.
    """
    read_status = response._read_status
    begin = response.begin

    def watched_read_status() -> typing.Any:
        nonlocal read_at
        # Peeking reads once from the socket when nothing is there, so it returns with the first byte.
        # A message that came behind an interim one is there already: it was read a moment ago.
        if response.fp is not None and hasattr(response.fp, "peek"):
            response.fp.peek(1)
        t_ns, read_at = read_at or _record.now(), 0
        found = read_status()
        if found[1] == 100:  # the only interim answer that http.client skips; any other is final to it
            _moments.informational(attempt, found[1])
        else:
            _moments.response_start(conn, attempt, t_ns)
        return found

    def watched_begin(*args: typing.Any, **kwargs: typing.Any) -> None:
        try:
            begin(*args, **kwargs)
        finally:
            response.__dict__.pop("begin", None)
            response.__dict__.pop("_read_status", None)
        attempt._http = response
        attempt._expected = response.length
        _moments.headers_end(attempt, response.status)

    response._read_status = watched_read_status
    response.begin = watched_begin


def got(attempt: Attempt, response: typing.Any) -> None:
    """urllib3's response is made; with preload_content its body has been read by now."""
    http = attempt._http
    if http is None:
        return
    # urllib3 1.26 makes its own object later; where the length is announced nobody needs to count.
    if attempt._expected is None and response is not http and hasattr(response, "tell"):
        attempt._response = weakref.ref(response)
        if getattr(response, "chunked", False) and hasattr(response, "_update_chunk_length"):
            _count_chunks(attempt, response)
    if http.isclosed():
        _moments.body_complete(attempt)


def returned(timing: Timing, response: typing.Any) -> None:
    """urllib3 1.26 makes its response after getresponse: here it is. Count what nobody has announced."""
    attempt = timing._last()
    if attempt is None or (attempt._http is None and not attempt._response_end):
        return
    if attempt._expected is not None or not hasattr(response, "tell"):
        return
    if attempt._response_end:
        attempt.bytes_received = response.tell()
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


def _acknowledge_quickly(sock: typing.Any, response: typing.Any) -> None:
    file = getattr(response, "fp", None)
    if isinstance(file, io.BufferedReader):
        response.fp = io.BufferedReader(_raw.acknowledging(file.detach(), sock))
