"""Reading a response: interim responses are skipped, the times are taken. http.client reads, with its own objects."""

from __future__ import annotations

import functools
import http.client
import types
import typing
import weakref

from .. import _patches
from .._timing import call as calls
from .._timing.attempt import LiveAttempt, now

if typing.TYPE_CHECKING:
    from .connection import OneWrite

#: Interim responses that are skipped; with more of them the response is an error.
MOST_INTERIM = 100

_HTTPResponse = http.client.HTTPResponse


class Unread(_HTTPResponse):
    """A response of http.client until its status line is read; then its class is http.client's."""

    _attempt: LiveAttempt | None = None

    def _read_status(self) -> tuple[str, int, str]:
        attempt = self._attempt
        for _ in range(MOST_INTERIM):
            t_ns = 0
            if attempt is not None:
                # This blocks until the first byte. What came in one read with an interim response is in the buffer.
                if hasattr(self.fp, "peek"):
                    self.fp.peek(1)
                t_ns = now()
            found: tuple[str, int, str] = _HTTPResponse._read_status(self)  # type: ignore[attr-defined]
            status = found[1]
            if not 100 <= status < 200 or status == 101:
                if attempt is not None:
                    attempt.response_start(t_ns)
                self.__class__ = _HTTPResponse  # type: ignore[assignment]
                return found
            if attempt is not None:
                attempt.informational(status)
            if status == 100:
                return found  # http.client itself skips a 100, and no other
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException(f"got more than {MOST_INTERIM} interim responses")


class _Timed(Unread):
    """The same, with its times taken."""

    def __init__(self, attempt: LiveAttempt, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().__init__(*args, **kwargs)
        self._attempt = attempt

    def begin(self) -> None:
        super().begin()
        attempt = self._attempt
        assert attempt is not None
        del self._attempt
        attempt.http_response = self
        attempt.expected = self.length
        attempt.headers_end(self.status, self.headers.get_all("Server-Timing"))


def make_getresponse(below: _patches.Below, own: bool) -> typing.Callable[..., typing.Any]:
    """Return ``getresponse``: it reads the head, and with ``preload_content`` of urllib3 2.x the body."""

    def getresponse(self: OneWrite, **extra: typing.Any) -> typing.Any:
        attempt = self._onewrite_attempt
        if attempt is None or self._onewrite_own is not own:
            return below(self, type(self))(**extra)
        timed = None
        if self.response_class is Unread:  # not one of the user's own
            timed = self.response_class = functools.partial(_Timed, attempt)  # type: ignore[assignment]
        attempt.awaiting = True
        try:
            response = below(self, type(self))(**extra)
            _got(attempt, response)
            return response
        except BaseException as error:
            attempt.error = error
            raise
        finally:
            attempt.awaiting = False
            if timed is not None and self.response_class is timed:
                del self.response_class

    return getresponse


def _got(attempt: LiveAttempt, response: typing.Any) -> None:
    """urllib3's response is made; with preload_content its body has been read by now."""
    http_response = attempt.http_response
    if http_response is None:  # the user's own class has read the head
        http_response = attempt.http_response = getattr(response, "_original_response", None) or response
        attempt.response_start(now())
        attempt.headers_end(response.status, None)
    if http_response.isclosed():
        if attempt.expected is None and hasattr(response, "tell"):
            attempt.response = weakref.ref(response)
        body_read(attempt, now())
    elif response is not http_response:  # urllib3 1.26 makes its own object later
        _watch(attempt, response)


def returned(call: calls.LiveCall, response: typing.Any) -> None:
    """urllib3 1.26 makes its response after getresponse: count what nobody has announced."""
    attempt = call.last
    if attempt is None or (attempt.http_response is None and "response_end" not in attempt.at):
        return
    if "response_end" in attempt.at:
        if attempt.expected is None and hasattr(response, "tell"):
            attempt.bytes_received = response.tell()
    else:
        _watch(attempt, response)


def _watch(attempt: LiveAttempt, response: typing.Any) -> None:
    """Count the body's bytes where their number is not announced; learn of errors that urllib3 closes nothing for."""
    if not hasattr(response, "tell"):
        return
    weak = weakref.ref(response)
    if attempt.expected is None:
        attempt.response = weak
        # urllib3 counts no bytes when it reads chunk by chunk: add up the sizes as they are announced.
        if getattr(response, "chunked", False) and not response.tell():
            _around_method(response, weak, "_update_chunk_length", attempt, _count_chunk)
    if response.headers.get("content-encoding"):
        _around_method(response, weak, "_decode", attempt, lambda attempt, response, before: None)


def _around_method(
    response: typing.Any, weak: typing.Any, name: str, attempt: LiveAttempt, after: typing.Any
) -> None:
    """Replace a method of *response* by one that notes what it raises, and that calls *after* if it does not.

    The reference is weak: otherwise a response that is dropped would not be freed before the collector runs.
    """
    below = getattr(type(response), name, None)
    if below is None:
        return

    def method(weak: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        response = weak()
        before = response.chunk_left
        attempt.awaiting = True  # it may close the connection before it raises
        try:
            answer = below(response, *args, **kwargs)
        except BaseException as error:
            body_failed(attempt, error)
            raise
        finally:
            attempt.awaiting = False
        after(attempt, response, before)
        return answer

    setattr(response, name, types.MethodType(method, weak))


def _count_chunk(attempt: LiveAttempt, response: typing.Any, before: int | None) -> None:
    if before is None:
        attempt.bytes_received = (attempt.bytes_received or 0) + max(response.chunk_left or 0, 0)


def body_failed(attempt: LiveAttempt, error: BaseException) -> None:
    """The reader of the body gets *error*."""
    attempt.error = error
    attempt.end("error" if isinstance(error, Exception) else "cancelled")


def body_read(attempt: LiveAttempt, t_ns: int) -> None:
    """The body was read to its end."""
    received = attempt.expected
    if received is None and attempt.bytes_received is None and attempt.response is not None:
        response = attempt.response()
        if response is not None:
            received = response.tell()
    attempt.response_end(t_ns, received)
