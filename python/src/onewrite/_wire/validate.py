"""What is refused before the first byte leaves (SEC-* of the spec).

- a method that is not a token (RFC 9110, 5.6.2 and 9.1);
- control characters or spaces in the target (RFC 9112, 3.2);
- a header name that is not a token, a value with CR, LF, NUL or another control (RFC 9110, 5.5);
- Content-Length beside Transfer-Encoding (RFC 9112, 6.2) or one that is not a plain number (RFC 9110, 8.6);
- a body in memory that is not as long as its Content-Length.

A stream that turns out shorter or longer than its Content-Length fails when that shows.
"""

from __future__ import annotations

import io
import re
import typing

from .._errors import InvalidRequestError
from . import body as bodies

_token = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_target_control = re.compile(r"[\x00-\x20\x7f]").search
_value_control = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search


def _text(name: typing.Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


_COMMON_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"))


def check_line(method: str, target: str) -> None:
    """Refuse a method or a target that would break the request line."""
    if method not in _COMMON_METHODS and (not isinstance(method, str) or not _token(method)):
        raise InvalidRequestError(f"method {method!r} is not an HTTP token: use letters such as 'POST'")
    if isinstance(target, str) and (not target.isprintable() or " " in target) and _target_control(target):
        raise InvalidRequestError(f"target {target!r} has a space or control character: percent-encode it (%20, %0A)")


#: Header names that were found right before, in lower case.
_names: dict[str, str] = {}
_MOST_NAMES = 1024


def checked_name(name: str) -> str:
    """*name* in lower case; InvalidRequestError where it is no token."""
    known = _names.get(name)
    if known is not None:
        return known
    if not _token(name):
        raise InvalidRequestError(f"header name {name!r} is not an HTTP token: remove what is not allowed in it")
    lower = name.lower()
    if len(_names) < _MOST_NAMES:
        _names[name] = lower
    return lower


_FRAMING = frozenset(("content-length", "transfer-encoding", "expect"))


class Framing(typing.NamedTuple):
    """What the header fields say of the body."""

    length: int | None = None
    expects_continue: bool = False


def check_headers(fields: typing.Iterable[typing.Iterable[typing.Any]], left_out: object = None) -> Framing | None:
    """Refuse header fields that would break the head; return what they say of the body, None for nothing.

    Each field is a name and its values.
    """
    length: int | None = None
    encoded = expects = False
    for name, *values in fields:
        lower = (_names.get(name) if type(name) is str else None) or checked_name(_text(name))
        for value in values:
            text = value if type(value) is str else _text(value)
            bad = None if text.isascii() and text.isprintable() else _value_control(text)
            if bad:
                raise InvalidRequestError(
                    f"value of header {name!r} has a control character at {bad.start()}: "
                    "remove CR, LF, NUL and the like"
                )
            if lower not in _FRAMING or value == left_out:
                continue  # the base library has rules of its own for the value that leaves a field out
            if lower == "content-length":
                text = text.strip(" \t")
                if not (text.isascii() and text.isdigit() and len(text) < 20):
                    raise InvalidRequestError(
                        f"Content-Length {text[:40]!r} is no whole number below 10^19: give one or leave it out"
                    )
                length = int(text)
            elif lower == "transfer-encoding":
                encoded = True
            else:
                expects = True
    if length is None and not expects:
        return None
    if encoded and length is not None:
        raise InvalidRequestError("both Content-Length and Transfer-Encoding are given: give at most one")
    return Framing(length, expects)


def checked_body(body: typing.Any, length: int, chunked: bool, encoding: str) -> typing.Any:
    """Hold *body* against its announced *length*; return what to send in its place (mostly itself)."""
    if chunked:
        raise InvalidRequestError("chunked=True and a Content-Length header exclude each other: leave one out")
    actual = len(body.encode(encoding)) if isinstance(body, str) else bodies.size(body)
    if actual is not None:
        if actual != length:
            raise InvalidRequestError(
                f"the body has {actual} bytes but Content-Length says {length}: leave the header out or correct it"
            )
        return body
    if isinstance(body, io.TextIOBase):
        return body  # its length in bytes depends on the encoding that the base library picks
    if hasattr(body, "read"):
        return _MeasuredReader(body, length)
    if isinstance(body, (list, tuple)):
        return list(_measured(body, length))
    if hasattr(body, "__iter__"):
        return _measured(body, length)
    return body


def _exceeded(length: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"the body goes on after the {length} bytes that Content-Length announced; "
        "the connection is closed: correct the header or send the body chunked"
    )


def _short(length: int, missing: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"the body ended {missing} bytes before the {length} that Content-Length announced; "
        "the connection is closed: correct the header or send the body chunked"
    )


def _measured(body: typing.Iterable[typing.Any], length: int) -> typing.Iterator[typing.Any]:
    left = length
    for piece in body:
        left -= len(piece.encode("utf-8")) if isinstance(piece, str) else memoryview(piece).nbytes
        if left < 0:
            raise _exceeded(length)
        yield piece
    if left:
        raise _short(length, left)


class _MeasuredReader:
    """Passes ``read`` on and compares what came with what was announced."""

    def __init__(self, body: typing.Any, length: int) -> None:
        self._body = body
        self._length = self._left = length

    def read(self, size: int = -1) -> typing.Any:
        """Read on; raise InvalidRequestError where the announced length does not hold."""
        data = self._body.read(size)
        if data:
            self._left -= len(data.encode("utf-8")) if isinstance(data, str) else memoryview(data).nbytes
            if self._left < 0:
                raise _exceeded(self._length)
        elif self._left and size != 0:
            raise _short(self._length, self._left)
        return data
