"""Options: code over environment over default, read once (CFG-1)."""

from __future__ import annotations

import dataclasses
import logging
import os
import typing

log = logging.getLogger("onewrite")

#: The most plaintext that one TLS record holds (RFC 8446, 5.1): a larger join gains nothing.
RECORD = 16384


@dataclasses.dataclass(frozen=True)
class Options:
    """What may be switched; names, types and defaults are those of spec/config.yaml."""

    disabled: bool = False
    nodelay_disabled: bool = False
    coalesce_disabled: bool = False
    hooks_disabled: bool = False
    coalesce_max: int = RECORD
    quickack: bool = False


#: With the kill switch, which implies every other one.
OFF = Options(disabled=True, nodelay_disabled=True, coalesce_disabled=True, hooks_disabled=True)

_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


def _from_environment(environ: typing.Mapping[str, str]) -> Options:
    values: dict[str, bool | int] = {}
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
    return OFF if values.get("disabled") else Options(**values)  # type: ignore[arg-type]


#: As the environment had it when onewrite was imported.
DEFAULTS = _from_environment(os.environ)


#: The options that code may give; ``disabled`` is for the environment alone.
NAMES = frozenset({field.name for field in dataclasses.fields(Options)} - {"disabled"})


def resolve(arguments: typing.Mapping[str, typing.Any], over: Options = DEFAULTS) -> Options:
    """Lay *arguments* over the options *over*, which are those of the environment; None is no argument.

    Raises TypeError for an unknown name or a wrong type and ValueError for a value out of range.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    _check(given)
    if not given or DEFAULTS.disabled:
        return over
    return dataclasses.replace(over, **given)


def _check(arguments: typing.Mapping[str, typing.Any]) -> None:
    for name, value in arguments.items():
        if name not in NAMES:
            raise TypeError(f"onewrite has no option {name!r}; it has {', '.join(sorted(NAMES))}")
        if name == "coalesce_max":
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"coalesce_max must be a whole number of bytes, not {value!r}")
            if not 0 <= value <= RECORD:
                raise ValueError(f"coalesce_max must be from 0 to {RECORD}, not {value}")
        elif not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")
