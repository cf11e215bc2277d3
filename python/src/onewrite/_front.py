"""Puts a class in front of an object's own, and replaces functions of a base library's classes.

The class of an object becomes a class that derives from onewrite's class and then from the object's class. Every
method of onewrite's class calls ``super()``. So it works above whatever subclass a user has written, above methods that
a tracer wrapped, before or after; and wrappers stay where they are.
"""

from __future__ import annotations

import functools
import logging
import types
import typing

log = logging.getLogger("onewrite")

#: What an object of a base library carries: one attribute of this name.
ATTRIBUTE = "_onewrite"


def in_front(front: type, cls: type) -> type:
    """Return the class with *front* before *cls*; raise TypeError where there can be none.

    It lives as long as one of its objects does.
    """
    if issubclass(cls, front):
        return cls
    for found in type.__subclasses__(cls):
        if found.__bases__ == (front, cls) and "_onewrite_behind" in found.__dict__:
            return found
    behind = cls.__dict__.get("_onewrite_behind", cls)
    names = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__class__": property(lambda self: behind, vars(object)["__class__"].__set__),
        "_onewrite_behind": behind,
    }
    try:
        return types.new_class(cls.__name__, (front, cls), {}, lambda namespace: namespace.update(names))
    except Exception as error:  # the metaclass refuses, in whatever way
        raise TypeError(f"{cls.__qualname__} cannot have a subclass") from error


_missed = 0


def missed() -> int:
    """Return how many objects and calls install() did not reach."""
    return _missed


def miss(what: str) -> None:
    """Count *what*, which install() does not reach, and log the first."""
    global _missed
    _missed += 1
    if _missed == 1:
        log.warning("onewrite does not reach %s; status().missed counts what it does not reach", what)


def put(front: type, instance: typing.Any) -> bool:
    """Put *front* before the class of *instance*; return whether it is there now."""
    cls = type(instance)
    if not issubclass(cls, front):
        try:
            object.__setattr__(instance, "__class__", in_front(front, cls))
        except (AttributeError, TypeError):  # any other error is that of a signal's handler
            miss(f"objects of {cls.__module__}.{cls.__qualname__}, whose class cannot change")
            return False
    return True


def put_on_new(front: type, instance: typing.Any) -> bool:
    """Put *front* before the class of *instance*, which its constructor has just made.

    CPython finds the attributes of an object slowly after a change of its class, unless it gets a new dict. Objects
    of a user's class keep theirs, which may be shared.
    """
    behind = type(instance)
    if not put(front, instance):
        return False
    if behind.__module__.startswith("urllib3.") and type(instance) is not behind:
        instance.__dict__ = {**instance.__dict__}
    return True


class Front:
    """Base of the classes that stand in front. To isinstance(), pickle and copy the object is of the class behind."""

    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> typing.Any:
        found = super().__reduce_ex__(protocol)
        if isinstance(found, str):
            return found
        made, arguments, *rest = found
        if rest and isinstance(rest[0], dict):
            rest[0] = {name: value for name, value in rest[0].items() if not name.startswith(ATTRIBUTE)}
        return (made, tuple(self.__class__ if one is type(self) else one for one in arguments), *rest)

    def __init_subclass__(cls, **keywords: typing.Any) -> None:
        """Call the hook of the class behind for a subclass that a user writes, not for one that in_front() makes."""
        if "_onewrite_behind" not in cls.__dict__:
            super().__init_subclass__(**keywords)


class _Placed(typing.NamedTuple):
    ours: typing.Any
    before: typing.Any


_placed: dict[tuple[type, str], _Placed] = {}


def after_init(installations: typing.Any, act: typing.Callable[[typing.Any], object]) -> typing.Any:
    """Return what place() makes of an ``__init__``: while *installations* are active, *act* gets each new object."""

    def make(below: typing.Any) -> typing.Callable[..., None]:
        def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
            below.__get__(self, type(self))(*args, **kwargs)  # a tracer's wrapper has to be bound
            if installations.active:
                act(self)

        return __init__

    return make


#: Functions to replace, by class and name, and what makes the one to put there.
Places = typing.Iterable[tuple[type, str, typing.Callable[[typing.Any], typing.Any]]]


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
