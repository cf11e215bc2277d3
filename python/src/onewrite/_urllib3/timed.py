"""Objects of http.client and urllib3 that take times while a connection opens and while it reads a head."""

from __future__ import annotations

import functools
import typing
from http.client import CONTINUE, HTTPResponse

from .._base_version import IS_V1
from .._timing.record import Call, now


def timed_response(call: Call, *args: typing.Any, **kwargs: typing.Any) -> HTTPResponse:
    """Make http.client's response, and take the time of its first byte. Stands in for a connection's response_class.

    A subclass would show in the caller's hands, and an object whose class has changed is slow in CPython.
    """
    call.response = response = HTTPResponse(*args, **kwargs)
    response._read_status = functools.partial(_read_status, call)  # type: ignore[attr-defined]
    return response


def untimed(response: typing.Any) -> None:
    """Break the cycle of *response* and its call."""
    vars(response).pop("_read_status", None)


def _read_status(call: Call) -> tuple[str, int, str]:
    response = call.response
    # This waits for the first byte, in the same read of the socket that http.client would make.
    t_ns = now() if hasattr(response.fp, "peek") and response.fp.peek(1) else 0
    found: tuple[str, int, str] = HTTPResponse._read_status(response)  # type: ignore[attr-defined]
    if found[1] == CONTINUE:  # http.client skips these, and no others
        call.informational(found[1])
    else:
        del response._read_status
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
