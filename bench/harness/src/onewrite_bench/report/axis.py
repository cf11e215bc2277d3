"""A logarithmic axis of times, and how each role is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LOOK", "Decades"]

# Colours are the page's, so that they fit light and dark; dashes tell curves apart without colour.
LOOK = {
    "control": ("--bad", ""),
    "adapter": ("--good", ""),
    "good": ("--good", "2 3"),
    "shown": ("--other", "6 3"),
}


@dataclass(frozen=True)
class Decades:
    """From 10**low to 10**high microseconds."""

    low: int
    high: int

    @staticmethod
    def over(values_us: Iterable[float]) -> Decades:
        values = [value for value in values_us if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
        return Decades(low, max(high, low + 1))

    def place(self, us: float) -> float:
        """Where a value is, from 0 to 1; one below the axis is at its start."""
        return min(1.0, (math.log10(max(us, 10**self.low)) - self.low) / (self.high - self.low))

    def ticks(self) -> list[tuple[float, str]]:
        return [(10.0**decade, _unit(decade)) for decade in range(self.low, self.high + 1)]


def _unit(decade: int) -> str:
    for unit, power in (("s", 6), ("ms", 3), ("µs", 0)):
        if decade >= power:
            return f"{10 ** (decade - power)} {unit}"
    return f"{10.0**decade:g} µs"
