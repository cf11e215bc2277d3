"""Functions of classes and modules, replaced and restored.

A tracer may wrap the same function before onewrite does, or after. Before: its wrapper is what ours calls. After: ours
stays below it at uninstall(), where it is a plain call, and the next install() finds it in place.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing

Function = typing.Callable[..., typing.Any]


class Patch:
    """One function of *owner*, a class or a module, and *make*, which gets it and returns its wrapper."""

    def __init__(self, owner: typing.Any, name: str, make: typing.Callable[[Function], Function]) -> None:
        self._owner, self._name, self._make = owner, name, make
        self._ours: Function | None = None
        #: The function before, and those that it wraps.
        self._below: list[typing.Any] = []

    def apply(self) -> None:
        """Replace the function, once."""
        if self.applied:
            return
        there = vars(self._owner).get(self._name)
        self._below = [there]
        while hasattr(self._below[-1], "__wrapped__"):
            self._below.append(self._below[-1].__wrapped__)
        # By getattr(): a wrapt proxy of a tracer has to be bound.
        stock = self._inherited() if there is None else typing.cast(Function, getattr(self._owner, self._name))
        self._ours = functools.wraps(stock)(self._make(stock))
        # For inspect.getfullargspec(), which does not follow __wrapped__: mocks read parameters by it.
        with contextlib.suppress(ValueError, TypeError):  # a wrapper without one
            self._ours.__signature__ = inspect.signature(stock)  # type: ignore[attr-defined]
        setattr(self._owner, self._name, self._ours)

    def _inherited(self) -> Function:
        """Return a function that looks the inherited one up at each call: it may be wrapped in its class later."""
        owner, name = self._owner, self._name

        def inherited(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return getattr(super(owner, self), name)(*args, **kwargs)

        return functools.wraps(getattr(owner, name))(inherited)

    def undo(self) -> None:
        """Restore the function, unless somebody has wrapped ours."""
        if vars(self._owner).get(self._name) is self._ours is not None:
            if self._below[0] is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._below[0])
        if not self.applied:
            self._ours = None

    @property
    def applied(self) -> bool:
        """Whether our function is in place, or below the wrapper of somebody else.

        A tracer that came first and goes puts back what was there before it, and so takes ours away.
        """
        there = vars(self._owner).get(self._name)
        return self._ours is not None and all(there is not one for one in self._below)

    def __str__(self) -> str:
        module = getattr(self._owner, "__module__", None)
        return f"{module}.{self._owner.__name__}.{self._name}" if module else f"{self._owner.__name__}.{self._name}"
