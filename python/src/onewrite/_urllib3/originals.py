"""Whether a method of the base library is the library's own code, or what a tracer or a mock put in its place.

The seam does the work of the methods named here. Comparing a method with what it was on import is not
enough: a tracer that came first would be taken for the original. A wrapper may carry the name, the
qualified name and the module of what it wraps (``functools.wraps`` copies all three); the globals that its
code runs with are those of the file it was written in, and cannot be copied. And methods are compared by
identity: a wrapt proxy is equal to what it wraps.
"""

from __future__ import annotations

import http.client
import operator
import sys
import types
import typing

#: Methods whose work the seam does itself.
_CONNECTION = ("request", "putrequest", "putheader", "endheaders", "_send_output", "_output", "send", "getresponse")
_POOL = ("_get_timeout", "_raise_timeout", "_validate_conn")
_RESPONSE = ("__init__", "begin", "_read_status", "_check_close")
_connection_names = frozenset((*_CONNECTION, "response_class"))
_HTTP_RESPONSE = http.client.HTTPResponse

#: The modules whose classes may define it: the libraries' own, and onewrite's.
_MODULES = frozenset((
    "http.client", "urllib3.connection", "urllib3.connectionpool", "urllib3.contrib.socks",
    *(f"{__package__}.{name}" for name in ("connection", "pool", "socks")),
))  # fmt: skip


def untouched(make_request: typing.Any, pool: typing.Any, conn: typing.Any) -> bool:
    """Whether all that the seam does the work of for *pool* and *conn* is the libraries' own code, just now.

    *make_request* is the bound method that the seam stands in for.
    """
    return (
        type(make_request) is types.MethodType  # asked first: a wrapt proxy has a __func__, that of what it wraps
        and (own(make_request.__func__, "urllib3.connectionpool") or id(make_request.__func__) in _installed)
        and conn.__dict__.keys().isdisjoint(_connection_names)
        and type(conn).response_class is _HTTP_RESPONSE
        and methods(type(conn), type(pool)).untouched()
    )


def own(function: typing.Any, module: str) -> bool:
    """Whether *function* is code of *module* itself."""
    return type(function) is types.FunctionType and function.__globals__ is vars(sys.modules[module])


def genuine(module: types.ModuleType, name: str) -> typing.Any:
    """The class that *module* itself defines under *name*, also where a recorder's stand-in is in its place."""
    found = getattr(module, name)
    for cls in found.__mro__:
        if cls.__module__ == module.__name__ and cls.__name__ == name:
            return cls
    return found


class Methods:
    """Methods of classes by name, and whether they are what those classes were written with.

    A method is looked up on every class that ``super()`` may reach, too: onewrite's methods hide those below.
    """

    def __init__(self, *groups: tuple[type, tuple[str, ...]]) -> None:
        self._pairs = [(level, name) for cls, names in groups for level in self._levels(cls, names) for name in names]
        # One call looks all of them up: this runs for each request.
        self._classes = types.SimpleNamespace()
        paths = []
        for number, (level, name) in enumerate(self._pairs):
            setattr(self._classes, f"c{number}", level)
            paths.append(f"c{number}.{name}")
        self._get = operator.attrgetter(*paths)
        #: What they were when last looked at, and whether that is what they were written as.
        self._seen: tuple[typing.Any, ...] = ()
        self._verdict = False

    def _levels(self, cls: type, names: tuple[str, ...]) -> list[type]:
        return [
            one
            for one in cls.__mro__
            if one is cls
            or (
                one.__module__ in _MODULES
                and not vars(one).keys().isdisjoint(names)
                and all(hasattr(one, name) for name in names)
            )
        ]

    def untouched(self) -> bool:
        """Whether all are what they were written as, just now."""
        now = self._get(self._classes)
        if self._seen and all(map(operator.is_, now, self._seen)):
            return self._verdict
        if any(type(one) is not types.FunctionType for one in now):
            return False  # a wrapt proxy: each look-up makes another
        self._verdict = not self.replaced()
        self._seen = now
        return self._verdict

    def replaced(self) -> list[tuple[type, str, typing.Any]]:
        """The class, the name and the function of each that is not."""
        found = []
        for level, name in self._pairs:
            defining = next(parent for parent in level.__mro__ if name in parent.__dict__)
            function = defining.__dict__[name]
            if defining.__module__ not in _MODULES or not (
                own(function, defining.__module__) or id(function) in _installed
            ):
                found.append((defining, name, function))
        return found


#: A program may make classes without end.
_MOST_CLASSES = 256
_methods: dict[tuple[type, type], Methods] = {}


def methods(connection_class: type, pool_class: type) -> Methods:
    """The methods that the seam does the work of, for a pool and a connection of these classes."""
    found = _methods.get((connection_class, pool_class))
    if found is None:
        if len(_methods) >= _MOST_CLASSES:
            _methods.clear()
        found = _methods[connection_class, pool_class] = Methods(
            (connection_class, _CONNECTION), (pool_class, _POOL), (_HTTP_RESPONSE, _RESPONSE)
        )
    return found


def wrappers(function: typing.Any) -> list[str]:
    """The modules of those who have wrapped a method, the outermost first; none for the library's or install()'s."""
    found: list[str] = []
    while function is not None and id(function) not in _installed:
        wrapper = getattr(function, "_self_wrapper", function)  # what a wrapt proxy calls
        wrapper = getattr(wrapper, "__func__", wrapper)
        module = getattr(wrapper, "__globals__", {}).get("__name__") or type(wrapper).__module__
        inner = getattr(function, "__wrapped__", None)
        if inner is None and module in _LIBRARIES:
            break
        if not found or found[-1] != module:
            found.append(module)
        function = inner
    return found


_LIBRARIES = ("http.client", "urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager")

#: What install() has put in the place of a library's own code, by ``id``.
_installed: dict[int, typing.Any] = {}


def installed(function: typing.Any) -> None:
    """*function* is install()'s, around a method that was the library's own."""
    _installed[id(function)] = function


def uninstalled(function: typing.Any) -> None:
    """*function* was taken away again."""
    _installed.pop(id(function), None)
