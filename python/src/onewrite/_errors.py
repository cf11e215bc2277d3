"""The error that onewrite raises, and the error kind (spec/events.yaml) of any exception.

Classes are compared by name, so that no library is imported for it.
"""

from __future__ import annotations

import typing


class UnsupportedBaseError(ImportError):
    """The installed base library has a version, or lacks names, that onewrite does not support. Nothing was changed."""


#: The packages whose class names are in the table. An exception of another package has the kind of its base class.
_PACKAGES = frozenset(
    ("builtins", "socket", "ssl", "http", "urllib3", "httpcore", "httpcore2", "h11", "httpx", "httpx2")
)

#: Kinds in the order in which they are tried: the first class found anywhere in the chain of causes decides.
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("other", frozenset((
        "LocationValueError", "InvalidURL", "ImproperConnectionState", "LocalProtocolError", "UnsupportedProtocol",
    ))),
    ("pool", frozenset(("EmptyPoolError", "ClosedPoolError", "PoolTimeout"))),
    ("dns", frozenset(("NameResolutionError", "gaierror"))),
    # Before ConnectTimeoutError, its base class.
    ("connect", frozenset(("NewConnectionError", "ConnectionRefusedError"))),
    ("timeout", frozenset(("ConnectTimeoutError",))),
    ("tls", frozenset(("SSLError",))),
    ("timeout", frozenset(("ReadTimeoutError", "TimeoutError"))),
    ("closed", frozenset(("RemoteDisconnected", "IncompleteRead", "BrokenPipeError"))),
    ("reset", frozenset(("ConnectionResetError", "ConnectionAbortedError"))),
)  # fmt: skip
#: Tried last: these say less than any cause in the chain.
_GENERAL: tuple[tuple[str, frozenset[str]], ...] = (
    ("timeout", frozenset(("TimeoutException",))),
    ("connect", frozenset(("ProxyError", "ConnectError"))),
    ("reset", frozenset(("ReadError", "WriteError"))),
    ("protocol", frozenset(("HTTPException", "ProtocolError", "ResponseError", "DecodeError"))),
)  # fmt: skip

#: Beginnings of messages for a connection that the peer closed; these errors have only a generic type.
_CLOSED = ("Server disconnected", "peer closed connection", "Response ended prematurely")


def _chain(error: BaseException) -> list[BaseException]:
    """Return *error* and what it wraps: reasons, arguments, causes."""
    found: list[BaseException] = []
    ahead: list[typing.Any] = [error]
    while ahead and len(found) < 100:  # an attribute of a user's exception may make a new one each time
        wrapped = ahead.pop(0)
        if not isinstance(wrapped, BaseException) or any(wrapped is known for known in found):
            continue
        found.append(wrapped)
        ahead += [getattr(wrapped, "reason", None), *wrapped.args, wrapped.__cause__]
        if not wrapped.__suppress_context__:
            ahead.append(wrapped.__context__)
    return found


def _names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__ if cls.__module__.partition(".")[0] in _PACKAGES}


def kind_of(error: BaseException) -> str:
    """Return the error kind, or "cancelled"."""
    if not isinstance(error, Exception):
        return "cancelled"  # KeyboardInterrupt, GeneratorExit, CancelledError, gevent.Timeout
    try:
        return _kind_of(error)
    except Exception:  # attributes and arguments of a user's exception run the user's code
        return "other"


def _kind_of(error: Exception) -> str:
    wrapped = _chain(error)
    names = set[str]().union(*map(_names, wrapped))
    # "EOF occurred in violation of protocol": the peer closed without a TLS close_notify.
    if {"ProtocolError", "SSLEOFError"} <= names:
        return "closed"
    # A chunk without a size. urllib3 1.26 raises this error with an empty size where the body has ended.
    if any("InvalidChunkLength" in _names(cause) and getattr(cause, "length", None) for cause in wrapped):
        return "protocol"
    for kind, classes in _KINDS:
        if not names.isdisjoint(classes):
            return kind
    if any(
        str(cause.args[0]).startswith(_CLOSED) for cause in wrapped if cause.args and _names(cause) & {"ProtocolError"}
    ):
        return "closed"
    return next((kind for kind, classes in _GENERAL if not names.isdisjoint(classes)), "other")
