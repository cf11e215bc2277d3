"""Options: code over environment over default. The environment is read once, at import (CFG-1, CFG-6)."""

from __future__ import annotations

import dataclasses
import logging
import os
import typing

log = logging.getLogger("onewrite")

#: The most plaintext that one TLS record holds (RFC 8446, 5.1). A larger join gains nothing.
RECORD = 16384


@dataclasses.dataclass(frozen=True)
class Options:
    """The options. Names, types and defaults are those of spec/config.yaml."""

    disabled: bool = False
    nodelay_disabled: bool = False
    coalesce_disabled: bool = False
    hooks_disabled: bool = False
    observe: bool = False
    coalesce_max: int = RECORD
    quickack: bool = False

    #: Whether TCP_NODELAY is set.
    nodelay: typing.ClassVar[bool]
    #: Up to how many bytes head and body are joined; 0 where writes are left to the base library.
    limit: typing.ClassVar[int]
    #: Whether TCP_QUICKACK is set.
    acknowledge: typing.ClassVar[bool]

    def __post_init__(self) -> None:
        stock = self.observe or self.disabled
        derived = {
            "nodelay": not (self.nodelay_disabled or stock),
            "limit": 0 if self.coalesce_disabled or stock else self.coalesce_max,
            "acknowledge": self.quickack and not stock,
        }
        for name, value in derived.items():  # read for each request: attributes of the object are found fastest
            object.__setattr__(self, name, value)


#: The kill switch implies every other switch.
OFF = Options(disabled=True, nodelay_disabled=True, coalesce_disabled=True, hooks_disabled=True)

#: The options that code may give. ``disabled`` comes from the environment alone.
NAMES = frozenset({field.name for field in dataclasses.fields(Options)} - {"disabled"})

_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


def _from_environment(environ: typing.Mapping[str, str]) -> Options:
    values: dict[str, typing.Any] = {}
    for field in dataclasses.fields(Options):
        name = "ONEWRITE_" + field.name.upper()
        text = environ.get(name, "").strip()
        if not text:
            continue
        if field.name == "coalesce_max":
            if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= RECORD:
                values[field.name] = int(text)
            else:
                log.warning("%s=%r is ignored: it must be a whole number from 0 to %d", name, text, RECORD)
        elif text.lower() in _TRUE:
            values[field.name] = True
        elif text.lower() not in _FALSE:
            log.warning("%s=%r is ignored: it must be 1, true, yes or on, or 0, false, no or off", name, text)
    return OFF if values.get("disabled") else Options(**values)


#: The options of the environment at import.
DEFAULTS = _from_environment(os.environ)


def resolve(arguments: typing.Mapping[str, typing.Any], over: Options = DEFAULTS) -> Options:
    """Return *over* with *arguments* in place of its values. None means that the argument is absent.

    Raises TypeError for a wrong type, ValueError for a value out of range.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        _check(name, value)
    if not given or DEFAULTS.disabled:
        return over
    return dataclasses.replace(over, **given)


def _check(name: str, value: object) -> None:
    if name != "coalesce_max":
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")
    elif isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"coalesce_max must be a whole number of bytes, not {value!r}")
    elif not 0 <= value <= RECORD:
        raise ValueError(f"coalesce_max must be from 0 to {RECORD}, not {value}")
