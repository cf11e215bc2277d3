"""Whether a method of the base library is the library's own code, or what a tracer or a mock put in its place.

The seam stands in for methods that it knows. Comparing a method with what it was on import is not
enough: a tracer that came first would be taken for the original. A wrapper may carry the name, the
qualified name and the module of what it wraps (``functools.wraps`` copies all three); the globals that its
code runs with are those of the file it was written in, and cannot be copied. And methods are compared by
identity: a wrapt proxy is equal to what it wraps.
"""

from __future__ import annotations

import operator
import sys
import types
import typing


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


_NEVER: tuple[tuple[typing.Any, ...], bool] = ((), False)


class Methods:
    """Methods by name, looked up on a class, and what each has to be for the seam to stand in.

    *ours* are the modules whose classes may define them: the libraries' own, and onewrite's. A method is looked up
    on every class that it may be called on by ``super()``, too: ours hide those below.
    """

    def __init__(self, names: tuple[str, ...], ours: tuple[str, ...]) -> None:
        self.names = names
        self._names = frozenset(names)
        self._ours = ours
        self._get = operator.attrgetter(*names)
        self._levels: dict[type, list[type]] = {}
        #: What a class had when it was last looked at, and whether that is what it was written with.
        self._seen: dict[type, tuple[tuple[typing.Any, ...], bool]] = {}

    def untouched(self, cls: type) -> bool:
        """Whether *cls* and its parents have the methods that they were written with, just now."""
        levels = self._levels.get(cls)
        if levels is None:
            levels = self._levels[cls] = [
                one
                for one in cls.__mro__
                if one is cls
                or (one.__module__ in self._ours and not self._names.isdisjoint(vars(one)) and self._has_all(one))
            ]
        now: tuple[typing.Any, ...] = ()
        for level in levels:
            now += self._get(level)
        seen, verdict = self._seen.get(cls, _NEVER)
        if len(seen) == len(now) and all(map(operator.is_, now, seen)):
            return verdict
        if any(type(one) is not types.FunctionType for one in now):
            return False  # a proxy is another one each time
        verdict = all(self._written(level, name) for level in levels for name in self.names)
        self._seen[cls] = now, verdict
        return verdict

    def replaced(self, cls: type) -> list[tuple[type, str, typing.Any]]:
        """The class, the name and the function of each method that is not what *cls* was written with."""
        self.untouched(cls)
        return [
            (defining, name, defining.__dict__[name])
            for level in self._levels[cls]
            for name in self.names
            if not self._written(level, name)
            for defining in (_defining(level, name),)
        ]

    def _has_all(self, cls: type) -> bool:
        return all(hasattr(cls, name) for name in self.names)

    def _written(self, cls: type, name: str) -> bool:
        defining = _defining(cls, name)
        function = defining.__dict__[name]
        return defining.__module__ in self._ours and (
            own(function, defining.__module__) or any(function is one for one in _installed)
        )

    def forget(self) -> None:
        """install() or uninstall() has put others in place."""
        self._seen.clear()


def _defining(cls: type, name: str) -> type:
    return next(parent for parent in cls.__mro__ if name in parent.__dict__)


def wrappers(function: typing.Any) -> list[str]:
    """The modules of those who have wrapped a method, the outermost first; none for the library's or install()'s."""
    found: list[str] = []
    while function is not None and not any(function is one for one in _installed):
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

#: What install() has put in the place of a library's own code.
_installed: list[typing.Any] = []


def installed(function: typing.Any) -> None:
    """*function* is install()'s, around a method that was the library's own."""
    _installed.append(function)
