"""Whether a method of the base library is the library's own code, or what a tracer or a mock put in its place.

A short way stands in for methods that it knows. Comparing a method with what it was on import is not
enough: a tracer that came first would be taken for the original. A wrapper may carry the name, the
qualified name and the module of what it wraps (``functools.wraps`` copies all three); the globals that its
code runs with are those of the file it was written in, and cannot be copied.
"""

from __future__ import annotations

import types
import typing

Methods = tuple[typing.Any, ...]


def own(module: types.ModuleType, function: typing.Any) -> bool:
    """Whether *function* is code of *module* itself."""
    return type(function) is types.FunctionType and function.__globals__ is vars(module)


#: Is never found in the place of anything.
FOREIGN = object()


def own_or_foreign(module: types.ModuleType, function: typing.Any) -> typing.Any:
    """*function* where it is code of *module*, or FOREIGN: nothing that is compared with that is untouched."""
    return function if own(module, function) else FOREIGN


def own_or_none(module: types.ModuleType, functions: Methods) -> Methods | None:
    """*functions* where all are code of *module*, or None: nothing that is compared with that is untouched."""
    return functions if all(own(module, one) for one in functions) else None
