"""Percentile plots as SVG: latency against 1/(1-percentile), both logarithmic, as HdrHistogram's plotter draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from onewrite_bench.generators.measurement import Distribution

__all__ = ["STYLE", "Curve", "svg"]

STYLE = """
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg path { fill: none; stroke-width: 2; }
"""

# Told apart without colour too: each role has its dash.
_LOOK = {
    "control": ("#cf222e", ""),
    "adapter": ("#1a7f37", ""),
    "good": ("#1a7f37", "2 3"),
    "shown": ("#0969da", "6 3"),
}
_WIDTH, _HEIGHT = 420, 260
_LEFT, _RIGHT, _BOTTOM = 48, 12, 34
_LEGEND_ROW = 16


@dataclass(frozen=True)
class Curve:
    name: str
    role: str
    distribution: Distribution


def svg(curves: Sequence[Curve], title: str) -> str:
    """One plot. Values of zero are drawn at the lowest decade."""
    values = [row[0] for curve in curves for row in curve.distribution.spectrum if row[0] > 0] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    columns = 3 if all(len(curve.name) <= 14 for curve in curves) else 2
    top = 12 + _LEGEND_ROW * -(-len(curves) // columns)
    nines = max(1.0, max(_inverse(curve.distribution) for curve in curves))

    def x(inverse: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(1.0, math.log10(max(1.0, inverse)) / nines)

    def y(us: float) -> float:
        level = (math.log10(max(us, 10**low)) - low) / (high - low)
        return top + (_HEIGHT - top - _BOTTOM) * (1 - level)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(_described(curves, title))}">']
    for decade in range(low, high + 1):
        at = y(10**decade)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_WIDTH - _RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{_unit(decade)}</text>')
    for inverse, label in ((1, "0"), (2, "50"), (10, "90"), (100, "99"), (1000, "99.9"), (10000, "99.99")):
        if math.log10(inverse) <= nines + 1e-9:
            at = x(inverse)
            parts.append(f'<line class="grid" x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{_HEIGHT - _BOTTOM}"/>')
            parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{label}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">percentile</text>')
    for index, curve in enumerate(curves):
        colour, dash = _LOOK[curve.role]
        points = [
            (x(1 / (1 - quantile) if quantile < 1 else 10**nines), y(us))
            for us, quantile, *_ in curve.distribution.spectrum
        ]
        if not points:
            continue
        steps = f"M{points[0][0]:.1f},{points[0][1]:.1f}" + "".join(f"L{px:.1f},{py:.1f}" for px, py in points[1:])
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<path d="{steps}" stroke="{colour}"{dashes}/>')
        at = _LEFT + index % columns * (_WIDTH - _LEFT) / columns
        height = 12 + _LEGEND_ROW * (index // columns)
        parts.append(f'<path d="M{at:.0f},{height}h18" stroke="{colour}"{dashes}/>')
        parts.append(f'<text x="{at + 23:.0f}" y="{height + 4}">{escape(curve.name)}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _inverse(distribution: Distribution) -> float:
    """How many nines the curve reaches, as log10(1/(1-q)) of its last row below 1, rounded up a little."""
    inner = [row[1] for row in distribution.spectrum if row[1] < 1]
    return math.log10(1 / (1 - inner[-1])) + 0.3 if inner else 1.0


def _unit(decade: int) -> str:
    for unit, power in (("s", 6), ("ms", 3), ("us", 0)):
        if decade >= power:
            return f"{10 ** (decade - power)} {unit}"
    return f"{10.0**decade:g} us"


def _described(curves: Sequence[Curve], title: str) -> str:
    told = []
    for curve in curves:
        p50, p99 = curve.distribution.percentile_us(50), curve.distribution.percentile_us(99)
        if p50 is not None and p99 is not None:
            told.append(f"{curve.name}: p50 {p50 / 1000:.2f} ms, p99 {p99 / 1000:.2f} ms")
    return f"{title}. {'; '.join(told)}"
