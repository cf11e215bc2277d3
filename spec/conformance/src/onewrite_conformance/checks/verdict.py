"""Verdicts, and how a value is compared with the expected one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Verdict", "either", "matches"]


@dataclass
class Verdict:
    """`problems` fail the run; `doubts` mean: cannot tell."""

    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value equals `wanted`, is in that list, or lies within `{min, max}`."""
    if isinstance(wanted, dict):
        return value is not None and wanted.get("min", value) <= value <= wanted.get("max", value)
    if isinstance(wanted, list):
        return value in wanted
    return bool(value == wanted)


def either(wanted: Any) -> str:
    """The wanted value in words."""
    if isinstance(wanted, dict):
        low, high = wanted.get("min"), wanted.get("max")
        return (
            f"{low}..{high}"
            if high is not None and low is not None
            else f"at {'least' if high is None else 'most'} {high if low is None else low}"
        )
    return " or ".join(str(value) for value in wanted) if isinstance(wanted, list) else str(wanted)
