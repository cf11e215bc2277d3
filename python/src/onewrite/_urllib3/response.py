"""In front of a response whose body is read after the request returned: the record ends with the reader's call.

A method that reads ends the record with its own error, or when it has read all. close() and release_conn() end it as
"ok": giving a body up is the caller's right. No hook is called while a response is freed; its record then waits for
the next call.
"""

from __future__ import annotations

import typing

import urllib3.response

from .._base_version import genuine
from .._front import Front, put
from .._timing.record import Call, now, take

if typing.TYPE_CHECKING:
    from urllib3.response import HTTPResponse as _HTTPResponse

    _Behind = _HTTPResponse
else:
    _Behind = Front
    _HTTPResponse = genuine(urllib3.response, "HTTPResponse")

_tell = getattr(_HTTPResponse, "tell", object)  # with the kill switch set, any urllib3 will do


def _reading(response: typing.Any) -> Call | None:
    """Return the call of *response*, if it has not ended and no method of the response is reading."""
    call: Call | None = response.__dict__.get("_onewrite")
    return call if call is not None and not call.reading else None


def _end(response: typing.Any, error: BaseException | None = None) -> None:
    """The caller has all that it wanted, or gets *error*. The class stays: a method may be at hand, bound."""
    call = take(response)
    if call is not None:
        call.error = None
        call.end(error)


class TimedResponse(_Behind):
    """Stands in front of a response's class."""

    _onewrite: Call
    #: The bytes that read_chunked() has read; urllib3's tell() does not count them.
    _onewrite_received = 0

    def _onewrite_read(
        self, read: typing.Callable[..., typing.Any], *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Any:
        """Call *read*; an error of it ends the call, if no other method of the response has called this one."""
        call = _reading(self)
        if call is None:
            return read(*args, **kwargs)
        call.reading = True
        try:
            return read(*args, **kwargs)
        except BaseException as error:
            _end(self, error)
            raise
        finally:
            call.reading = False

    def _onewrite_complete(self) -> None:
        """End the call if the body was read to its end, in this call of a method or in one before it."""
        if _reading(self) is not None and _HTTPResponse.isclosed(self):
            call = take(self)
            if call is not None:
                call.body_read(call.freed_ns or now(), (size_of(self) or 0) + self._onewrite_received)
                call.end()

    def _onewrite_read_some(
        self, read: typing.Callable[..., bytes], args: tuple[typing.Any, ...], kwargs: dict[str, typing.Any]
    ) -> bytes:
        data: bytes = self._onewrite_read(read, *args, **kwargs)
        amount = args[0] if args else kwargs.get("amt")
        # With a coding there may be more for the reader when all was received, or an error.
        if amount is None or (not data and amount != 0) or not self.headers.get("content-encoding"):
            self._onewrite_complete()
        return data

    def read(self, *args: typing.Any, **kwargs: typing.Any) -> bytes:
        """Read: see urllib3."""
        return self._onewrite_read_some(super().read, args, kwargs)

    if hasattr(_HTTPResponse, "read1"):

        def read1(self, *args: typing.Any, **kwargs: typing.Any) -> bytes:
            """Read: see urllib3."""
            return self._onewrite_read_some(super().read1, args, kwargs)

    def stream(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Generator[bytes, None, None]:
        """Read: see urllib3."""
        yield from super().stream(*args, **kwargs)
        self._onewrite_complete()

    def read_chunked(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Generator[bytes, None, None]:
        """Read: see urllib3."""
        below = super().read_chunked(*args, **kwargs)
        try:
            while (data := self._onewrite_read(next, below, None)) is not None:
                yield data
        finally:
            # Also where this generator is freed: no hook is called then.
            self._onewrite_read(below.close)
        self._onewrite_complete()

    def _handle_chunk(self, amt: int | None) -> bytes:
        data = super()._handle_chunk(amt)
        self._onewrite_received += len(data)
        return data

    def drain_conn(self) -> None:
        """Read the rest, without an error: see urllib3."""
        self._onewrite_read(super().drain_conn)
        if not getattr(self._original_response, "length", None):
            self._onewrite_complete()
        if _reading(self) is not None:
            _end(self)

    def release_conn(self) -> None:
        """Give the connection back: see urllib3."""
        super().release_conn()
        if self._connection is None and _reading(self) is not None:
            _end(self)

    def close(self) -> None:
        """Close the response: see urllib3."""
        try:
            super().close()
        finally:
            if _reading(self) is not None:
                _end(self)

    def __del__(self) -> None:
        call: Call | None = self.__dict__.pop("_onewrite", None)
        if call is not None:
            call.abandon()
        super().__del__()


def watch(response: typing.Any, call: Call) -> bool:
    """Let *call* end with the reader of *response*; return whether that can be seen."""
    if not isinstance(response, _HTTPResponse) or not put(TimedResponse, response):
        return False
    vars(response)["_onewrite"] = call  # a class of the user may have a __setattr__
    return True


def size_of(response: typing.Any) -> int | None:
    """Return how many bytes of *response* were read; None where a class of the user would have to tell."""
    return response.tell() if getattr(type(response), "tell", None) is _tell else None
