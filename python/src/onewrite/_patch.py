"""Functions of classes and modules, replaced and given back.

A tracer may wrap the same function before onewrite does, or after. Before: its wrapper is what ours calls. After: ours
stays below it at uninstall(), where it is a plain call, and the next install() finds it in place.
"""

from __future__ import annotations

import functools
import inspect
import typing

Function = typing.Callable[..., typing.Any]


class Patch:
    """One function of *owner*, a class or a module, and *make*, which gets it and makes what takes its place."""

    def __init__(self, owner: typing.Any, name: str, make: typing.Callable[[Function], Function]) -> None:
        self._owner, self._name, self._make = owner, name, make
        self._ours: Function | None = None
        self._stock: typing.Any = None

    def apply(self) -> None:
        """Replace the function, once. Somebody may have put the stock one back since: then it is replaced again."""
        there = vars(self._owner).get(self._name)
        if self._ours is not None and there is not self._stock:
            return
        self._stock = there
        below = self._inherited() if there is None else typing.cast(Function, there)
        self._ours = functools.wraps(below)(self._make(below))
        # For inspect.getfullargspec(), which does not follow __wrapped__: mocks read parameters by it.
        self._ours.__signature__ = inspect.signature(below)  # type: ignore[attr-defined]
        setattr(self._owner, self._name, self._ours)

    def _inherited(self) -> Function:
        """Return a function that looks the inherited one up at each call: it may be wrapped in its class later."""
        owner, name = self._owner, self._name

        def inherited(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return getattr(super(owner, self), name)(*args, **kwargs)

        inherited.is_inherited = True  # type: ignore[attr-defined]
        return functools.wraps(getattr(owner, name))(inherited)

    def undo(self) -> None:
        """Give the function back, unless somebody has wrapped ours."""
        if not self.applied or vars(self._owner).get(self._name) is not self._ours:
            return
        if self._stock is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._stock)
        self._ours = None

    @property
    def applied(self) -> bool:
        """Whether our function is in place, or below the wrapper of somebody else."""
        return self._ours is not None and vars(self._owner).get(self._name) is not self._stock

    def __str__(self) -> str:
        module = getattr(self._owner, "__module__", None)
        return f"{module}.{self._owner.__name__}.{self._name}" if module else f"{self._owner.__name__}.{self._name}"
