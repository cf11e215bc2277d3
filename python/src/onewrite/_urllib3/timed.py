"""Objects of http.client and urllib3 that take times while a connection opens and while it reads a head."""

from __future__ import annotations

import http.client
import typing

from .._timing.record import Call, now

HTTPResponse = http.client.HTTPResponse


class TimedResponse(HTTPResponse):
    """http.client's response while its head is read; then its class is http.client's."""

    def __init__(self, call: Call, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().__init__(*args, **kwargs)
        self._onewrite_call = call

    def _read_status(self) -> tuple[str, int, str]:
        # peek() waits for the first byte, in the same read of the socket that readline() would make.
        t_ns = now() if hasattr(self.fp, "peek") and self.fp.peek(1) else 0
        found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        if found[1] == http.client.CONTINUE:  # http.client skips it, and no other
            self._onewrite_call.informational(found[1])
        else:
            self._onewrite_call.response_began(t_ns or now())
        return found

    def begin(self) -> None:
        """Read the head."""
        super().begin()
        call = self._onewrite_call
        del self._onewrite_call
        self.__class__ = HTTPResponse  # type: ignore[assignment]
        call.expected = self.length
        call.headers_read(self.status)


class TimedOptions(list[typing.Any]):
    """A connection's socket options. urllib3 sets them between the look-up of the name and the TCP handshake."""

    def __init__(self, options: list[typing.Any], call: Call) -> None:
        super().__init__(options)
        self._call = call

    def __bool__(self) -> bool:
        return True  # urllib3 1.26 does not pass on an empty list

    def __iter__(self) -> typing.Iterator[typing.Any]:
        call = self._call
        if call.dns_start and not call.dns_end:
            call.step_end("dns")
            call.step_start("connect")
        return super().__iter__()
