"""Runs a function when a module is imported: onewrite imports no base library before the program does.

A program that patches the standard library (gevent, eventlet) must do so before urllib3 is imported, and the call of
install() may come before that: in ``python -m onewrite run``, or in gunicorn's ``post_fork``.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import typing


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module as the finders behind it do, and wraps its loader. It leaves sys.meta_path when that has run."""

    def __init__(self, name: str, function: typing.Callable[[], object]) -> None:
        self.name, self._function = name, function

    def find_spec(
        self, fullname: str, path: typing.Any = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        found = (finder.find_spec(fullname, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        loader: typing.Any = spec and spec.loader
        if hasattr(loader, "exec_module") and not isinstance(loader, type):  # a class loads frozen modules
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                del loader.exec_module  # a reload is none of ours
                execute(module)
                forget(self)
                self._function()

            loader.exec_module = exec_module
        return spec


def forget(finder: importlib.abc.MetaPathFinder | None) -> None:
    """Remove *finder* from sys.meta_path, if it is there."""
    if finder in sys.meta_path:
        sys.meta_path.remove(typing.cast(typing.Any, finder))


def when_imported(name: str, function: typing.Callable[[], object]) -> importlib.abc.MetaPathFinder | None:
    """Call *function* now if module *name* is imported, else right after its import.

    Return the finder for :func:`forget`, None if *function* was called.
    """
    if sys.modules.get(name) is not None:  # None blocks the import
        importlib.import_module(name)  # another thread may be at it: wait
        function()
        return None
    finder = _Finder(name, function)
    sys.meta_path.insert(0, finder)
    return finder
