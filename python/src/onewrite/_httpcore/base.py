"""The installed httpcore and httpx, or their successors: classes by their public interface, private names probed."""

from __future__ import annotations

import functools
import importlib
import typing

from .._errors import OnewriteError, UnsupportedBaseError
from .._sockets import host_and_port
from .._wire.body import at_hand

#: httpcore, and the httpx that builds its requests.
PAIRS = {"httpcore": "httpx", "httpcore2": "httpx2"}


class Streams(typing.NamedTuple):
    """The exact classes of request bodies."""

    #: One piece of bytes.
    whole: tuple[type, ...]
    #: Around a file, list or generator.
    wrapping: type | None = None
    #: Multipart, with its kinds of fields.
    multipart: type | None = None
    data_field: type | None = None
    file_field: type | None = None


def cores() -> typing.Iterator[typing.Any]:
    """Yield those of httpcore and httpcore2 that are installed."""
    for name in PAIRS:
        try:
            yield importlib.import_module(name)
        except ImportError:
            continue


@functools.cache
def streams(name: str) -> Streams:
    """Return the classes of the bodies that the core *name* and its httpx make of what a user gives.

    Raises UnsupportedBaseError where these objects lack a private name that onewrite reads.
    """
    try:
        return _streams(name)
    except OnewriteError:
        raise
    except Exception as error:
        raise UnsupportedBaseError(f"{name} is not what onewrite knows, and is left alone: {error!r}") from error


def _streams(name: str) -> Streams:
    core = importlib.import_module(name)
    whole: type = type(core.Request("POST", "http://onewrite.invalid/", content=b"x").stream)
    probe(core.ConnectionPool(), "_network_backend")
    probe(core.AsyncConnectionPool(), "_network_backend")
    try:
        httpx = importlib.import_module(PAIRS[name])
    except ImportError:
        return Streams((whole,))

    def body(**content: typing.Any) -> typing.Any:
        return httpx.Request("POST", "http://onewrite.invalid/", **content).stream

    wrapping = probe(body(content=[b"x"]), "_stream")
    multipart = probe(body(data={"a": "b"}, files={"c": b"d"}), "fields")
    data_field, file_field = multipart.fields
    probe(file_field, "file")
    return Streams(
        (whole, type(body(content=b"x"))), type(wrapping), type(multipart), type(data_field), type(file_field)
    )


def probe(instance: typing.Any, name: str) -> typing.Any:
    """Return *instance*; raise UnsupportedBaseError where it lacks *name*."""
    if not hasattr(instance, name):
        cls = type(instance)
        raise UnsupportedBaseError(
            f"{cls.__module__}.{cls.__qualname__} has no {name}, which onewrite relies on; onewrite leaves it alone"
        )
    return instance


def proxy_of(pool: typing.Any) -> str | None:
    """Return host and port of the proxy of *pool*. Its attributes are private: without them it has none."""
    url = getattr(pool, "_proxy_url", None) or getattr(getattr(pool, "_proxy", None), "url", None)
    if url is None:
        return None
    return host_and_port(url.host.decode("latin-1"), url.port or {b"https": 443}.get(url.scheme, 80))


def body_at_hand(stream: typing.Any, known: Streams) -> bool:
    """Return whether all of a request's body can be read without waiting and without running code of the caller."""
    kind = type(stream)
    if kind in known.whole:
        return True
    if kind is known.wrapping:
        return at_hand(stream._stream)
    if kind is known.multipart:
        return type(stream.fields) is list and all(_field_at_hand(field, known) for field in stream.fields)
    return at_hand(stream)


def _field_at_hand(field: typing.Any, known: Streams) -> bool:
    kind: typing.Any = type(field)
    return kind is known.data_field or (kind is known.file_field and at_hand(field.file))
