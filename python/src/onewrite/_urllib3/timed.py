"""Objects of http.client and urllib3 that take times while a connection opens and while it reads a head."""

from __future__ import annotations

import functools
import http.client
import re
import typing

from .._base_version import IS_V1
from .._timing.record import Call, now

HTTPResponse = http.client.HTTPResponse

#: Begin of a final answer. http.client skips answers with the status 100, and no others.
_FINAL = re.compile(rb"HTTP/1\.[01] (?!100)[1-9][0-9][0-9][ \r]").match


def timed_response(call: Call, *args: typing.Any, **kwargs: typing.Any) -> HTTPResponse:
    """Make http.client's response, and take the time of its first byte. Stands in for a connection's response_class.

    A subclass would show in the caller's hands, and an object whose class has changed is slow in CPython.
    """
    response: typing.Any = HTTPResponse(*args, **kwargs)
    try:
        # This waits for the first byte, in the same read of the socket that begin() would make.
        first = response.fp.peek(1) if hasattr(response.fp, "peek") else b""
    except BaseException as error:  # http.client handles what begin() raises
        response.begin = functools.partial(_fail, response, error)
    else:
        if _FINAL(first):
            call.response_began(now())
        else:
            response.begin = functools.partial(_begin, call, response)
    return response  # type: ignore[no-any-return]


def _fail(response: typing.Any, error: BaseException, *args: typing.Any, **kwargs: typing.Any) -> None:
    del response.begin
    raise error


def _begin(call: Call, response: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
    del response.begin  # it refers to the response
    response._read_status = functools.partial(_read_status, call, response)
    try:
        response.begin(*args, **kwargs)
    finally:
        del response._read_status


def _read_status(call: Call, response: typing.Any, *args: typing.Any) -> tuple[str, int, str]:
    t_ns = now() if hasattr(response.fp, "peek") and response.fp.peek(1) else 0
    found: tuple[str, int, str] = HTTPResponse._read_status(response, *args)  # type: ignore[attr-defined]
    if found[1] == http.client.CONTINUE:
        call.informational(found[1])
    else:
        call.response_began(t_ns or now())
    return found


class TimedOptions(list[typing.Any]):
    """A connection's socket options. urllib3 sets them between the look-up of the name and the TCP handshake."""

    def __init__(self, options: list[typing.Any], call: Call) -> None:
        super().__init__(options)
        self._call = call

    def __bool__(self) -> bool:
        return IS_V1 or len(self) > 0  # urllib3 1.26 does not pass on an empty list

    def __iter__(self) -> typing.Iterator[typing.Any]:
        call = self._call
        if call.dns_start and not call.dns_end:
            call.step_end("dns")
            call.step_start("connect")
        return super().__iter__()
