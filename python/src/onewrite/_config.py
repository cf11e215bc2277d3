"""The switches ``disabled``, ``observe`` and ``quickack``. Code goes before the environment, read once, at import."""

from __future__ import annotations

import logging
import os
import typing

if typing.TYPE_CHECKING:
    from ._hooks import Hook

log = logging.getLogger("onewrite")

_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("", "0", "false", "no", "off"))


def _flag(name: str) -> bool:
    text = os.environ.get(name, "").strip().lower()
    if text not in _TRUE | _FALSE:
        log.warning("%s=%r is ignored: it must be 1, true, yes or on, or 0, false, no or off", name, text)
    return text in _TRUE


#: The kill switch: nothing is patched, own classes are stock, no hook is called.
DISABLED = _flag("ONEWRITE_DISABLED")
OBSERVE = _flag("ONEWRITE_OBSERVE")
QUICKACK = _flag("ONEWRITE_QUICKACK")


class Scope:
    """What is done to the connections of one install(), or of one manager. Read for each request."""

    __slots__ = ("hooks", "is_active", "observe", "quickack")

    def __init__(self) -> None:
        #: A tuple that is replaced, so that whoever iterates over it needs no lock.
        self.hooks: tuple[Hook, ...] = ()
        self.switch_off()

    def __deepcopy__(self, memo: object) -> Scope:
        """Stay the same in a copy of a session: a hook and what it is bound to are not copied."""
        return self

    def switch_off(self) -> None:
        """Do nothing to requests from now on."""
        self.is_active = self.quickack = self.observe = False

    def switch_on(self, observe: bool | None, quickack: bool | None) -> None:
        """Turn on what the arguments say; None stands for the environment's value."""
        for name, value in (("observe", observe), ("quickack", quickack)):
            if value is not None and not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, not {value!r}")
        self.observe = OBSERVE if observe is None else observe
        self.is_active = not self.observe
        self.quickack = self.is_active and (QUICKACK if quickack is None else quickack)


#: That of install().
installed = Scope()
