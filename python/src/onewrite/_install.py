"""install(), uninstall() and status(): every urllib3 connection of this process."""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import logging
import sys
import threading
import typing

from . import _config, _hooks, _imports
from ._config import Scope, installed
from ._errors import UnsupportedBaseError

log = logging.getLogger("onewrite")

_lock = threading.RLock()
#: What waits for urllib3's import, and why install() has no effect.
_finder: importlib.abc.MetaPathFinder | None = None
_is_on = False


def install(
    on_timing: typing.Callable[..., object] | None = None, *, observe: bool | None = None, quickack: bool | None = None
) -> typing.Callable[[], None]:
    """Send each request of every urllib3 connection in one write, with TCP_NODELAY on.

    Pools and connections that exist are reached. If urllib3 is not imported yet, this is done right after its import.

    Args:
        on_timing: gets the :class:`onewrite.Record` of each request after its end, on the thread that ends it. What it
            raises as an Exception is swallowed, counted and logged once.
        observe: leave writes and TCP_NODELAY to urllib3; only hooks work. Default: ``ONEWRITE_OBSERVE``.
        quickack: set TCP_QUICKACK after each request (Linux). Default: ``ONEWRITE_QUICKACK``.

    Returns:
        a function that removes this hook. Called again, install() adds a hook and sets both switches anew.

    Raises:
        UnsupportedBaseError: urllib3 is imported, and is not 1.26 or 2.x, or lacks a name; nothing is changed. One that
            is imported later is left alone with a warning in the log.
        TypeError: a hook that cannot be called, or a switch that is no bool.
    """
    global _finder, _is_on
    with _lock:
        before = _is_on, installed.hooks
        hooks = _hooks.added(installed.hooks, on_timing)
        if _config.DISABLED:
            return lambda: None
        _is_on, installed.hooks = True, hooks
        try:
            installed.switch_on(observe, quickack)
            if _finder is None:
                _finder = _imports.when_imported("urllib3", _on_import)
            if _finder is None:
                _apply()
        except BaseException:
            _is_on, installed.hooks = before
            if not _is_on:
                installed.switch_off()
            raise

    def remove() -> None:
        with _lock:
            installed.hooks = _hooks.removed(installed.hooks, on_timing)
            if _is_on and _finder is None:
                _apply()

    return remove


def _on_import() -> None:
    """Patch urllib3, which the program has just imported."""
    global _finder, _is_on
    waited, _finder = _finder is not None, None
    if waited and _is_on:
        try:
            _apply()
        except UnsupportedBaseError as error:
            _is_on = False
            installed.switch_off()
            log.warning("%s; it stays as it is", error)


def _apply() -> None:
    try:
        from . import _patches
    except (ImportError, AttributeError) as error:  # something else of this name
        raise UnsupportedBaseError(f"this urllib3 is not supported: {error}") from error
    _patches.apply(bool(installed.hooks))


def uninstall() -> None:
    """Leave urllib3 as it was; without an install() before it, do nothing.

    Open connections stay open. Requests under way end as with urllib3 alone, without a record. A function that somebody
    has wrapped since stays below the wrapper and only calls urllib3's; so do the functions of own managers.
    """
    global _finder, _is_on
    with _lock:
        _is_on = False
        installed.hooks = ()
        installed.switch_off()
        _imports.forget(_finder)
        _finder = None
        patches = sys.modules.get(f"{__package__}._patches")
        if patches is not None:
            patches.undo()


def status() -> dict[str, typing.Any]:
    """Return what onewrite does in this process.

    ``enabled``: whether install() is in force, else ``off_because``; ``patches``: the functions that are replaced now;
    ``hooks``: how many of install(); ``hook_errors``: how many times a hook has raised.
    """
    patches = sys.modules.get(f"{__package__}._patches")
    reason = None
    if _config.DISABLED:
        reason = "ONEWRITE_DISABLED is set"
    elif patches is not None and patches.other_copy:
        reason = "another copy of onewrite has patched urllib3"
    elif not _is_on:
        reason = "not installed"
    elif _finder is not None:
        reason = "urllib3 is not imported yet"
    try:
        base = importlib.metadata.version("urllib3")
    except importlib.metadata.PackageNotFoundError:
        base = None
    return {
        "version": sys.modules[__package__].__version__,
        "enabled": reason is None,
        "off_because": reason,
        "base": {"name": "urllib3", "version": base},
        "patches": [] if patches is None else patches.applied(),
        "options": {"disabled": _config.DISABLED, "observe": installed.observe, "quickack": installed.quickack},
        "hooks": len(installed.hooks),
        "hook_errors": _hooks.failures,
    }


def own_scope(
    on_timing: typing.Callable[..., object] | None, observe: bool | None, quickack: bool | None
) -> Scope | None:
    """Return the scope of a manager of one's own, whose connections the functions of install() serve; None: stock."""
    scope = Scope()
    scope.hooks = _hooks.added((), on_timing)
    scope.switch_on(observe, quickack)
    return kept(scope)


def kept(scope: Scope | None) -> Scope | None:
    """Replace, until the process ends, the functions that *scope* needs, and return it; None where it is off."""
    if scope is None or _config.DISABLED:
        return None
    from . import _patches

    with _lock:
        _patches.keep(bool(scope.hooks))
    return None if _patches.other_copy else scope
