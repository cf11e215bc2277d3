"""Which urllib3 this is, whether onewrite supports it, and a check of each private name that is touched."""

from __future__ import annotations

import functools
import http.client
import inspect
import typing

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager
import urllib3.response

from ._errors import UnsupportedBaseError


def version() -> str:
    """Return the installed urllib3's version, "" where it has none."""
    return str(getattr(urllib3, "__version__", ""))


IS_V1 = version().startswith("1.")


def genuine(module: typing.Any, name: str) -> typing.Any:
    """Return the class that *module* defines under *name*, also where a recorder's stand-in has its place."""
    found = getattr(module, name)
    for cls in found.__mro__:
        if cls.__module__ == module.__name__ and cls.__name__ == name:
            return cls
    return found


def unsupported() -> str | None:
    """Return why this urllib3 must be left alone, or None where it is supported."""
    return unsupported_version() or _missing_name()


def unsupported_version() -> str | None:
    """Return why this version must be left alone, or None. Nothing is made: a pool registers a function at exit."""
    found = version()
    parts = found.split(".")
    try:
        major, minor = int(parts[0]), int(parts[1])
        patch = int("".join(c for c in (parts[2] if len(parts) > 2 else "0") if c.isdigit()) or 0)
    except (ValueError, IndexError):
        return f"urllib3 {found!r} has a version that onewrite cannot read; it supports 1.26 and 2.x"
    if patch >= 900 or hasattr(urllib3, "backend") or hasattr(urllib3, "AsyncPoolManager"):
        return (
            f"the installed 'urllib3' {found} is urllib3-future, which replaces urllib3 and writes requests "
            "in its own way; onewrite leaves it alone. "
            "To use it: pip install --force-reinstall urllib3"
        )
    if (major, minor) >= (1, 26) and major <= 2:
        return None
    return f"urllib3 {found} is not supported; onewrite supports 1.26 and 2.x"


#: What onewrite relies on: attributes, and methods with the parameters that it gives, by class.
_RELIED_ON = {
    "HTTPConnection": "sock socket_options timeout _dns_host _tunnel_host response_class "
    "_new_conn() _tunnel() connect() close() getresponse() request(method,url,body)",
    "HTTPConnectionPool": "block conn_kw host pool port proxy scheme "
    "_get_conn(timeout) _put_conn(conn) _new_conn() urlopen(retries)",
    "HTTPResponse": "_connection _original_response "
    "read() read_chunked() stream() drain_conn() release_conn() tell() _handle_chunk()",
    "PoolManager": "urlopen() _new_pool(scheme,host,port)",
}


def _has(instance: object, name: str, parameters: str) -> bool:
    method = getattr(instance, name, None)
    if callable(method) and not str(getattr(method, "__module__", "")).startswith("urllib3"):
        return True  # somebody else's wrapper, a mock's: it takes what urllib3's takes
    try:
        known = inspect.signature(method).parameters if callable(method) else {}
    except ValueError:
        return False
    kinds = {parameter.kind for parameter in known.values()}
    takes_all = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL} <= kinds
    return callable(method) and (takes_all or all(name in known for name in parameters.split(",") if name))


def _probe() -> typing.Iterator[tuple[str, bool]]:
    """Yield each name that onewrite relies on, and whether real objects have it."""
    connection, manager = urllib3.connection, genuine(urllib3.poolmanager, "PoolManager")
    conn = genuine(connection, "HTTPConnection")("onewrite.invalid", 80)
    pool = genuine(urllib3.connectionpool, "HTTPConnectionPool")("onewrite.invalid", 80)
    response = genuine(urllib3.response, "HTTPResponse")(b"")
    try:
        for instance, (cls, names) in zip((conn, pool, response, manager()), _RELIED_ON.items(), strict=True):
            for name in names.split():
                what, method, parameters = name.rstrip(")").partition("(")
                there = _has(instance, what, parameters) if method else hasattr(instance, what)
                yield f"{cls}.{name}", there
        yield "HTTPConnection._dns_host", getattr(conn, "_dns_host", None) == "onewrite.invalid"
        secure, plain = (genuine(connection, name) for name in ("HTTPSConnection", "HTTPConnection"))
        yield "HTTPSConnection", issubclass(secure, plain)
        yield "http.client.HTTPResponse._read_status()", hasattr(http.client.HTTPResponse, "_read_status")
        yield "PoolManager.urlopen", "urlopen" in vars(manager)
        yield "Retry.history", urllib3.Retry().history == ()
    finally:
        pool.close()


@functools.cache
def _missing_name() -> str | None:
    try:
        missing = [name for name, there in _probe() if not there]
    except Exception as error:
        missing = [f"an error while looking: {error!r}"]
    if not missing:
        return None
    return f"urllib3 {version()} lacks what onewrite relies on ({', '.join(missing)}); onewrite leaves it alone"


def require() -> None:
    """Raise UnsupportedBaseError unless this urllib3 is supported."""
    reason = unsupported()
    if reason:
        raise UnsupportedBaseError(reason)
