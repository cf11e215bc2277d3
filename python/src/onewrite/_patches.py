"""Replaces methods of the base libraries, puts them back, and finds who else has wrapped them."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing


class _Placed(typing.NamedTuple):
    ours: typing.Any
    #: What the class had under the name; None where it inherits it.
    before: typing.Any
    #: Says whether it does anything now.
    active: typing.Callable[[], bool]


_placed: dict[tuple[type, str], _Placed] = {}

#: Called with the instance, the bound method below, and the arguments.
Function = typing.Callable[..., typing.Any]
#: Returns the bound method below of an instance and its class.
Below = typing.Callable[[typing.Any, type], typing.Any]
#: Makes the method that stands in for the one below, for the own classes (True) or for install() (False). The own
#: classes derive from those that install() changes: for them the method of install() only passes the call on.
Make = typing.Callable[[Below, bool], typing.Any]


def place(owner: type, name: str, make: Make, active: typing.Callable[[], bool]) -> None:
    """Put the method that *make* makes in the place of a method, unless it is there already, or below a wrapper.

    *active* says for status() whether it does anything now. A method that somebody has put back since, such as a mock
    that is older than install(), is replaced anew.
    """
    there = owner.__dict__.get(name)
    if (owner, name) in _placed and not (there is None or own(there, owner.__module__)):
        return
    ours = method(owner, name, make, getattr(owner, name), own=False)
    _placed[owner, name] = _Placed(ours, there, active)
    setattr(owner, name, ours)


def method(owner: type, name: str, make: Make, like: typing.Any, own: bool) -> typing.Any:
    """Return what *make* makes of the method *name* of *owner*, or the one that it inherits, documented as *like*.

    The method below is bound by the descriptor protocol, as its class binds it: a tracer's wrapper gets the instance.
    """
    below = owner.__dict__[name] if name in owner.__dict__ else _Inherited(owner, name)
    return functools.wraps(like)(make(functools.partial(type(below).__get__, below), own))


class _Inherited:
    """The method that *owner* inherits, looked up at each call: somebody may replace it on the class behind."""

    def __init__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: typing.Any, cls: typing.Any = None) -> typing.Any:
        return getattr(super(self._owner, instance), self._name)


def put_back(owner: type, name: str) -> None:
    """Undo place(), unless somebody has wrapped the method since: then it stays, and does nothing."""
    placed = _placed.get((owner, name))
    if placed is None or owner.__dict__.get(name) is not placed.ours:
        return
    del _placed[owner, name]
    if placed.before is None:
        delattr(owner, name)
    else:
        setattr(owner, name, placed.before)


def around(function: Function) -> Make:
    """Return what makes a method that calls *function* with the instance and the bound method below."""

    def make(below: Below, own: bool) -> typing.Any:
        def method(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return function(self, below(self, type(self)), *args, **kwargs)

        async def awaited(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return await function(self, below(self, type(self)), *args, **kwargs)

        return awaited if inspect.iscoroutinefunction(function) else method

    return make


def own(function: typing.Any, module: str) -> bool:
    """Return whether *function* is code of *module*.

    A wrapper may copy the name and the module of what it wraps, but not the globals that its code runs with.
    """
    return type(function) is types.FunctionType and function.__globals__ is vars(sys.modules[module])


def genuine(module: types.ModuleType, name: str) -> typing.Any:
    """Return the class that *module* defines under *name*, also where a recorder's stand-in has its place."""
    found = getattr(module, name)
    for cls in found.__mro__:
        if cls.__module__ == module.__name__ and cls.__name__ == name:
            return cls
    return found


def placed() -> typing.Iterable[tuple[type, str]]:
    """Return the classes and names of what was put in place."""
    return list(_placed)


def found(owner: type, name: str) -> dict[str, typing.Any]:
    """Return the state of a method for status(), and the modules that have wrapped it, the outermost first."""
    placed = _placed.get((owner, name))
    wrapped_by: list[str] = []
    state = "stock"
    function = owner.__dict__.get(name)
    while function is not None:
        if placed is not None and function is placed.ours:
            state = "patched" if placed.active() else "idle"
            break
        wrapper = getattr(function, "_self_wrapper", function)  # what a wrapt proxy calls
        wrapper = getattr(wrapper, "__func__", wrapper)
        module = getattr(wrapper, "__globals__", {}).get("__name__") or type(wrapper).__module__
        inner = getattr(function, "__wrapped__", None)
        if inner is None and own(function, owner.__module__):
            break
        if not wrapped_by or wrapped_by[-1] != module:
            wrapped_by.append(module)
        function = inner
    return {"state": state, "wrapped_by": wrapped_by}


def full_name(owner: type, name: str) -> str:
    """Return the name of a method with class and module."""
    return f"{owner.__module__}.{owner.__name__}.{name}"
