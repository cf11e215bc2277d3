"""Steps of a call that urllib3 shows nowhere: the end of the look-up of a name, and the first byte of a response."""

from __future__ import annotations

import typing
from http.client import CONTINUE, HTTPResponse

from .._base_version import IS_V1
from .._timing.record import Call, current, now


class TimedHead(HTTPResponse):
    """http.client's response, which takes the time of its first byte; from then on it is of http.client's class."""

    def _read_status(self) -> tuple[str, int, str]:
        call = current.get()
        read: typing.Any = super()._read_status  # type: ignore[misc]
        if call is None or call.response_start:
            self.__class__ = HTTPResponse  # type: ignore[assignment]
            return read()  # type: ignore[no-any-return]
        # The same read of the socket that http.client would make next. The file of a user's socket may lack peek().
        head = self.fp.peek(1) if hasattr(self.fp, "peek") else b""
        t_ns = now() if head else 0
        if len(head) < 12 or head[9:12] == b"100":
            found: tuple[str, int, str] = read()
            if found[1] == CONTINUE:  # http.client skips these, and no others
                call.informational(found[1])
            else:
                self.__class__ = HTTPResponse  # type: ignore[assignment]
                call.response_began(t_ns or now())
            return found
        self.__class__ = HTTPResponse  # type: ignore[assignment]
        call.response_began(t_ns)
        return read()  # type: ignore[no-any-return]


class TimedOptions(list[typing.Any]):
    """A connection's socket options. urllib3 sets them between the look-up of the name and the TCP handshake."""

    def __init__(self, options: list[typing.Any], call: Call, peer: str) -> None:
        super().__init__(options)
        self._call = call
        self._peer = peer

    def __bool__(self) -> bool:
        return IS_V1 or len(self) > 0  # urllib3 1.26 does not pass on an empty list

    def __iter__(self) -> typing.Iterator[typing.Any]:
        call = self._call
        if call.phase == "dns":
            call.step_end("dns")
            call.step_start("connect", peer=self._peer)
        return super().__iter__()
