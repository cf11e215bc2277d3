"""The errors that onewrite itself raises, and the error kind (spec/events.yaml) of any exception."""

from __future__ import annotations

import http.client
import socket
import ssl
import typing

import urllib3.exceptions as base


class OnewriteError(Exception):
    """Base of every error that onewrite itself raises."""


class InvalidRequestError(OnewriteError, base.InvalidHeader, ValueError):
    """The request cannot be sent as it stands; the message says what to change.

    Raised before the first byte leaves, or, for a streamed body that turns out shorter or longer than
    its Content-Length, in mid-body; the connection is then closed. It is never retried. It is also a
    ValueError, because urllib3 raises that for the cases which it checks itself, and an InvalidHeader of
    urllib3, because that one requests turns into a RequestException.
    """


class UnsupportedBaseError(OnewriteError, ImportError):
    """The installed urllib3 is not one that onewrite knows; nothing was changed."""


_NAME_RESOLUTION: tuple[type[BaseException], ...] = tuple(
    one for one in (getattr(base, "NameResolutionError", None), socket.gaierror) if one is not None
)

#: Error kinds in the order in which they are tried; the first class found anywhere in the chain decides.
_KINDS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("invalid_request", (InvalidRequestError, base.LocationValueError)),
    ("pool", (base.EmptyPoolError, base.ClosedPoolError)),
    ("dns", _NAME_RESOLUTION),
    # Tried before ConnectTimeoutError, which is its base class.
    ("connect", (base.NewConnectionError, ConnectionRefusedError)),
    ("timeout", (base.ConnectTimeoutError,)),
    ("tls", (ssl.SSLError, base.SSLError)),
    ("timeout", (base.ReadTimeoutError, TimeoutError)),
    (
        "closed",
        (http.client.RemoteDisconnected, http.client.IncompleteRead, base.IncompleteRead, BrokenPipeError),
    ),
    ("reset", (ConnectionResetError, ConnectionAbortedError)),
    ("connect", (base.ProxyError,)),
    ("protocol", (http.client.HTTPException, base.ProtocolError, base.ResponseError, base.DecodeError)),
)


#: Errors of httpcore and h11, by name since these may not be installed; used where no cause says more.
_NAMED = {
    "ConnectTimeout": "timeout",
    "ReadTimeout": "timeout",
    "WriteTimeout": "timeout",
    "ConnectError": "connect",
    "ProxyError": "connect",
    "ReadError": "reset",
    "WriteError": "reset",
    "RemoteProtocolError": "protocol",
    "LocalProtocolError": "invalid_request",
    "UnsupportedProtocol": "invalid_request",
}
_NAMED_BY = ("httpcore", "httpcore2", "h11")
#: Messages of httpcore and h11 for a connection that the peer has closed.
_GONE = ("Server disconnected", "peer closed connection")


#: All that urllib3 2.x gives: the type says no more than that the protocol was broken, and there is no cause.
_ENDED_BETWEEN_CHUNKS = ("Response ended prematurely",)


def _broken_chunk(error: BaseException) -> bool:
    """Return whether a chunk's size is none; urllib3 1.26 has that error with no text where the body has ended."""
    return isinstance(error, base.InvalidChunkLength) and bool(getattr(error, "length", None))


def chain(error: BaseException) -> list[BaseException]:
    """*error* and what it wraps: reasons, arguments, causes."""
    found: list[BaseException] = []
    ahead: list[typing.Any] = [error]
    while ahead:
        one = ahead.pop(0)
        if not isinstance(one, BaseException) or any(one is known for known in found):
            continue
        found.append(one)
        ahead += [getattr(one, "reason", None), *one.args, one.__cause__]
        if not one.__suppress_context__:
            ahead.append(one.__context__)
    return found


def kind_of(error: BaseException) -> str:
    """One of the error kinds, or "cancelled"."""
    if not isinstance(error, Exception):
        return "cancelled"  # KeyboardInterrupt, GeneratorExit, gevent.Timeout
    wrapped = chain(error)
    # "EOF occurred in violation of protocol": the peer closed without a TLS close_notify.
    if any(isinstance(one, ssl.SSLEOFError) for one in wrapped) and any(
        isinstance(one, base.ProtocolError) for one in wrapped
    ):
        return "closed"
    if any(_broken_chunk(one) for one in wrapped):
        return "protocol"
    if any(type(one) is base.ProtocolError and one.args == _ENDED_BETWEEN_CHUNKS for one in wrapped):
        return "closed"
    named = [one for one in wrapped if type(one).__module__.partition(".")[0] in _NAMED_BY]
    if any(type(one).__name__ == "PoolTimeout" for one in named):
        return "pool"
    for kind, classes in _KINDS:
        if any(isinstance(one, classes) for one in wrapped):
            return kind
    if any(str(one).startswith(_GONE) for one in named):
        return "closed"
    return next((_NAMED[type(one).__name__] for one in named if type(one).__name__ in _NAMED), "other")
