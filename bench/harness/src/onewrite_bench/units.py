"""Times and sizes as people read them."""

from __future__ import annotations

__all__ = ["milliseconds", "size"]


def milliseconds(us: float | None) -> str:
    """Microseconds shown as milliseconds with about three digits."""
    if us is None:
        return "-"
    ms = us / 1000
    return f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}"


def size(count: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("kB", 1000)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} B"
