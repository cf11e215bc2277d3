"""What the server says of its own time: the Server-Timing fields of a final response (TIME-34)."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["parse", "server_ns"]

MOST_CHARACTERS = 4096
MOST_ENTRIES = 32
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 128
LONGEST_NS = 86_400_000_000_000

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
MILLISECONDS = re.compile(r"([0-9]{1,8})(?:\.([0-9]+))?|\.([0-9]+)")


def parse(fields: list[str]) -> list[dict[str, Any]]:
    """The entries of all fields, in order: `name`, `duration_ns` and `description`, absent where not said."""
    found: list[dict[str, Any]] = []
    left = MOST_CHARACTERS
    for field in fields:
        texts = _split(field[:left], ",")
        if len(field) > left:
            texts.pop()  # cut off within it
        found += [entry for entry in map(_entry, texts) if entry is not None]
        if len(field) > left:
            break
        left -= len(field)
    return found[:MOST_ENTRIES]


def server_ns(entries: list[dict[str, Any]], wait_ns: int | None) -> int | None:
    """How much of the wait the server claims: `total`, else the longest; None when it does not fit into the wait."""
    said = [entry for entry in entries if "duration_ns" in entry]
    if wait_ns is None or not said:
        return None
    total = next((entry["duration_ns"] for entry in said if entry["name"] == "total"), None)
    claimed = int(max(entry["duration_ns"] for entry in said) if total is None else total)
    return claimed if 0 < claimed <= wait_ns else None


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that are outside quoted strings."""
    parts = [""]
    quoted = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == separator:
            parts.append("")
            continue
        else:
            quoted = character == '"'
        parts[-1] += character
    return parts


def _entry(text: str) -> dict[str, Any] | None:
    name, *rest = (part.strip(" \t") for part in _split(text, ";"))
    if len(name) > LONGEST_NAME or not TOKEN.fullmatch(name):
        return None
    said: dict[str, str] = {}
    for part in rest:
        key, _, value = part.partition("=")
        said.setdefault(key.rstrip(" \t").lower(), _value(value.lstrip(" \t")))
    entry: dict[str, Any] = {"name": name}
    duration_ns = _duration_ns(said.get("dur", ""))
    if duration_ns is not None:
        entry["duration_ns"] = duration_ns
    if said.get("desc"):
        entry["description"] = said["desc"][:LONGEST_DESCRIPTION]
    return entry


def _value(text: str) -> str:
    """What a quoted string holds, or the text as it is. A backslash at its very end stands for itself."""
    if not text.startswith('"'):
        return text
    content = ""
    escaped = False
    for character in text[1:]:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
            continue
        elif character == '"':
            return content
        content += character
    return content + ("\\" if escaped else "")


def _duration_ns(text: str) -> int | None:
    match = MILLISECONDS.fullmatch(text)
    if match is None:
        return None
    fraction = (match[2] or match[3] or "")[:6].ljust(6, "0")
    duration_ns = int(match[1] or 0) * 1_000_000 + int(fraction)
    return duration_ns if duration_ns <= LONGEST_NS else None
