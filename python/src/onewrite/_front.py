"""Puts a class in front of an object's own, and replaces functions of a base library's classes.

The class of an object becomes a class that derives from onewrite's class and then from the object's class. Every
method of onewrite's class calls ``super()``. So it works above whatever subclass a user has written, above methods that
a tracer wrapped, before or after; and wrappers stay where they are.
"""

from __future__ import annotations

import functools
import sys
import types
import typing


def in_front(front: type, cls: type) -> type:
    """Return the class with *front* before *cls*. It lives as long as one of its objects does."""
    if issubclass(cls, front):
        return cls
    for found in type.__subclasses__(cls):
        if found.__bases__ == (front, cls) and "_onewrite_in_front" in found.__dict__:
            return found
    names = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__class__": property(lambda self: cls, vars(object)["__class__"].__set__),
        "_onewrite_in_front": True,
    }
    return types.new_class(cls.__name__, (front, cls), {}, lambda namespace: namespace.update(names))


def put(front: type, instance: typing.Any, lasting: bool = False) -> bool:
    """Put *front* before the class of *instance*; return whether it is there now.

    CPython finds the attributes of an object slowly after a change of its class, unless it gets a new dict. That pays
    for an object that is *lasting*. A dict that the user's code shares stays.
    """
    cls = type(instance)
    if not issubclass(cls, front):
        try:
            instance.__class__ = in_front(front, cls)
            if lasting and _references(instance) == _UNSHARED:
                instance.__dict__ = {**instance.__dict__}
        except Exception:  # the class of its objects cannot change, or its metaclass refuses in whatever way
            return False
    return True


def _references(instance: typing.Any) -> int:
    return sys.getrefcount(instance.__dict__)


class Front:
    """Base of the classes that stand in front. To isinstance() and pickle the object is of the class behind."""

    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> typing.Any:
        found = super().__reduce_ex__(protocol)
        if isinstance(found, str):
            return found
        made, arguments, *rest = found
        return (made, tuple(self.__class__ if one is type(self) else one for one in arguments), *rest)

    def __init_subclass__(cls, **keywords: typing.Any) -> None:
        """Call the hook of the class behind for a subclass that a user writes, not for one that in_front() makes."""
        if "_onewrite_in_front" not in cls.__dict__:
            super().__init_subclass__(**keywords)


_UNSHARED = _references(Front())

_asleep: list[tuple[type, str, typing.Any]] = []


_Class = typing.TypeVar("_Class", bound=type)


def asleep(*names: str) -> typing.Callable[[_Class], _Class]:
    """Take the methods *names* off a class until wake(): while nobody has given a hook they cost nothing."""

    def take(cls: _Class) -> _Class:
        for name in names:
            _asleep.append((cls, name, cls.__dict__[name]))
            delattr(cls, name)
        return cls

    return take


def wake() -> None:
    """Put these methods on their classes, in the order of their names: from now on there are hooks."""
    while _asleep:
        cls, name, method = _asleep[0]
        setattr(cls, name, method)
        del _asleep[:1]  # last: another thread may do the same meanwhile


class _Placed(typing.NamedTuple):
    ours: typing.Any
    before: typing.Any


_placed: dict[tuple[type, str], _Placed] = {}


def after_init(installations: typing.Any, act: typing.Callable[[typing.Any], object]) -> typing.Any:
    """Return what place() makes of an ``__init__``: while *installations* are active, *act* gets each new object."""

    def make(below: typing.Callable[..., None]) -> typing.Callable[..., None]:
        def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
            below(self, *args, **kwargs)
            if installations.active:
                act(self)

        return __init__

    return make


def place(owner: type, name: str, make: typing.Callable[[typing.Any], typing.Any]) -> None:
    """Replace a function of *owner* by what *make* makes of it.

    Nothing to do where it is in place, or below somebody's wrapper. A function that somebody has put back since, such
    as a mock that is older than this call, is replaced again.
    """
    there = owner.__dict__[name]
    placed = _placed.get((owner, name))
    if placed is None or there is placed.before:
        ours = functools.wraps(there)(make(there))
        _placed[owner, name] = _Placed(ours, there)
        setattr(owner, name, ours)


def put_back(owner: type, name: str) -> None:
    """Undo place(). A function that somebody has wrapped since stays, and only calls the one below."""
    placed = _placed.get((owner, name))
    if placed is not None and owner.__dict__.get(name) is placed.ours:
        del _placed[owner, name]
        setattr(owner, name, placed.before)


def state_of(owner: type, name: str, active: bool) -> str:
    """Return the state of a function for status(); it may be below wrappers of others."""
    placed = _placed.get((owner, name))
    function = owner.__dict__.get(name)
    while function is not None:
        if placed is not None and function is placed.ours:
            return "patched" if active else "idle"
        function = getattr(function, "__wrapped__", None)
    return "stock"
