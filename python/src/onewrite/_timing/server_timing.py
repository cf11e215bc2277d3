"""What a server says of its own time: the Server-Timing fields of a response (W3C Server Timing, TIME-34).

A server may send anything: what is read is bounded, what is no entry is left out, nothing raises.
"""

from __future__ import annotations

import re
import typing

#: Characters read over all fields, and entries kept.
MOST_CHARACTERS = 4096
MOST_ENTRIES = 32
_MOST_DESCRIPTION = 128
_MOST_DURATION_NS = 86_400_000 * 1_000_000

_token = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}").fullmatch
#: Whole and broken milliseconds.
_number = re.compile(r"([0-9]{1,8})(?:\.([0-9]+))?|\.([0-9]+)").fullmatch
_BLANK = " \t"


class ServerTiming(typing.NamedTuple):
    """One entry of a response's Server-Timing."""

    name: str
    #: In nanoseconds; None where the server gave none.
    duration_ns: int | None = None
    description: str | None = None

    def to_dict(self) -> dict[str, typing.Any]:
        """The entry under its canonical names, absent values left out."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def parse(fields: typing.Iterable[str]) -> list[ServerTiming] | None:
    """The entries of *fields*, the values of the header in their order; None where there are none."""
    found: list[ServerTiming] = []
    left = MOST_CHARACTERS
    for field in fields:
        cut = len(field) > left
        pieces = _pieces(field[:left], ",")
        if cut:
            pieces.pop()  # the cut fell into it
        for piece in pieces:
            entry = _entry(piece)
            if entry is not None:
                found.append(entry)
                if len(found) == MOST_ENTRIES:
                    return found
        if cut:
            break
        left -= len(field)
    return found or None


def split(entries: list[ServerTiming], wait_ns: int | None) -> tuple[int | None, int | None]:
    """Return what of *wait_ns* the server claims, and the rest; None for what cannot be told.

    The server claims its entry ``total``, else its longest one. The rest is the network, proxies, and queues before
    the server's clock.
    """
    if wait_ns is None:
        return None, None
    timed = [entry for entry in entries if entry.duration_ns is not None]
    total = next((entry.duration_ns for entry in timed if entry.name == "total"), None)
    if total is None:
        total = max((entry.duration_ns or 0 for entry in timed), default=0)
    if not 0 < total <= wait_ns:
        return None, None  # a longer one measures something else
    return total, wait_ns - total or None


def _pieces(text: str, separator: str) -> list[str]:
    """*text* between its separators, those in quoted strings aside."""
    if '"' not in text:
        return text.split(separator)
    pieces = []
    start = at = 0
    while at < len(text):
        if text[at] == '"':
            at = _closing(text, at)
        elif text[at] == separator:
            pieces.append(text[start:at])
            start = at + 1
        at += 1
    return [*pieces, text[start:]]


def _closing(text: str, at: int) -> int:
    """Where the quoted string that begins at *at* ends: at its quote, or with *text*."""
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def _entry(text: str) -> ServerTiming | None:
    name, *parts = _pieces(text, ";")
    name = name.strip(_BLANK)
    if not _token(name):
        return None
    given: dict[str, str] = {}
    for part in parts:
        key, _, value = part.partition("=")
        given.setdefault(key.strip(_BLANK).lower(), _value(value.strip(_BLANK)))
    description = given.get("desc", "")[:_MOST_DESCRIPTION]
    return ServerTiming(name, _duration_ns(given.get("dur", "")), description or None)


def _value(text: str) -> str:
    if text[:1] != '"':
        return text
    return re.sub(r"\\(.)", r"\1", text[1 : _closing(text, 0)], flags=re.DOTALL)


def _duration_ns(text: str) -> int | None:
    found = _number(text)
    if found is None:
        return None
    whole, fraction, alone = found.groups(default="")
    duration = int(whole or 0) * 1_000_000 + int((fraction + alone)[:6].ljust(6, "0"))
    return duration if duration <= _MOST_DURATION_NS else None
