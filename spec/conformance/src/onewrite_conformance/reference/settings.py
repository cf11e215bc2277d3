"""The reference's options, from code and from the environment (config.yaml)."""

from __future__ import annotations

import os
import sys
from typing import Any

from onewrite_conformance.reference.errors import CallError
from onewrite_conformance.reference.mutants import broken

__all__ = ["Settings"]

TRUE = ("1", "true", "yes", "on")
FALSE = ("", "0", "false", "no", "off")
SWITCHES = ("disabled", "nodelay_disabled", "coalesce_disabled", "hooks_disabled", "observe", "quickack")


class Settings:
    """What switches and options make of a client kind."""

    def __init__(self, kind: str, options: dict[str, Any]) -> None:
        adapter = options.get("adapter") or {}
        if not broken("unchecked_options"):
            self._check(adapter)
        own = kind == "onewrite" and not self._on("disabled", adapter)
        self.own = own or (kind == "onewrite" and broken("ignores_kill_switch"))
        self._on("nodelay_disabled", adapter)  # its stock client has NODELAY on as well: nothing to leave alone
        self.nodelay = not broken("nodelay")
        joins = not self._on("coalesce_disabled", adapter) and (not self._on("observe", adapter) or broken("observe"))
        self.coalesce = self.own and joins
        self.hooks = self.own and not self._on("hooks_disabled", adapter) and not broken("hooks")
        self.quickack = self.own and self._on("quickack", adapter)
        self.limit = self._limit(adapter)

    @staticmethod
    def _check(adapter: dict[str, Any]) -> None:
        for name, value in adapter.items():
            if name not in (*SWITCHES, "coalesce_max"):
                raise CallError("other", f"there is no option {name}")
            if name in SWITCHES and not isinstance(value, bool):
                raise CallError("other", f"{name} must be true or false, not {value!r}")
            if name == "coalesce_max" and (type(value) is not int or not 0 <= value <= 16384):
                raise CallError("other", f"coalesce_max must be a whole number of 0 to 16384, not {value!r}")

    @staticmethod
    def _on(name: str, adapter: dict[str, Any]) -> bool:
        if name in adapter:
            return bool(adapter[name])
        variable = f"ONEWRITE_{name.upper()}"
        value = os.environ.get(variable, "").lower()
        if value not in TRUE + FALSE:
            _warn(variable, "true or false")
        return value in (TRUE if not broken("one_is_false") else ("true",))

    @staticmethod
    def _limit(adapter: dict[str, Any]) -> int:
        value = adapter.get("coalesce_max", os.environ.get("ONEWRITE_COALESCE_MAX") or 16384)
        try:
            limit = int(value)
        except ValueError:
            limit = -1
        if not 0 <= limit <= 16384:
            _warn("ONEWRITE_COALESCE_MAX", "a whole number of 0 to 16384")
            return 16384
        return limit


_warned: set[str] = set()


def _warn(variable: str, wanted: str) -> None:
    """Say once that a value of the environment is ignored."""
    if variable not in _warned and not broken("silent"):
        _warned.add(variable)
        sys.stderr.write(f"{variable} is ignored: it must be {wanted}\n")
        sys.stderr.flush()
