"""Percentile plots as SVG: latency against 1/(1-percentile), both logarithmic, as HdrHistogram's plotter draws them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from onewrite_bench.generators.measurement import Distribution
from onewrite_bench.report.axis import LOOK, Decades

__all__ = ["Axes", "Curve", "svg"]

_WIDTH, _HEIGHT = 400, 280
_LEFT, _RIGHT, _BOTTOM = 66, 14, 40
_LEGEND_ROW = 16


@dataclass(frozen=True)
class Curve:
    name: str
    role: str
    distribution: Distribution


@dataclass(frozen=True)
class Axes:
    """The same for all plots of one run, so that neighbours can be compared by eye."""

    decades: Decades
    nines: float

    @staticmethod
    def over(curves: Iterable[Curve]) -> Axes:
        drawn = [curve.distribution for curve in curves]
        values = [row[0] for distribution in drawn for row in distribution.spectrum]
        return Axes(Decades.over(values), max([1.0, *(_inverse(distribution) for distribution in drawn)]))


def svg(curves: Sequence[Curve], title: str, axes: Axes | None = None) -> str:
    """One plot. Values of zero are drawn at the lowest decade."""
    axes = axes or Axes.over(curves)
    columns = 3 if all(len(curve.name) <= 12 for curve in curves) else 2
    top = 14 + _LEGEND_ROW * -(-len(curves) // columns)

    def x(inverse: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(1.0, math.log10(max(1.0, inverse)) / axes.nines)

    def y(us: float) -> float:
        return top + (_HEIGHT - top - _BOTTOM) * (1 - axes.decades.place(us))

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(_described(curves, title))}">']
    for value, label in axes.decades.ticks():
        at = y(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_WIDTH - _RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for inverse, label in ((1, "0"), (2, "50"), (10, "90"), (100, "99"), (1000, "99.9"), (10000, "99.99")):
        if math.log10(inverse) <= axes.nines + 1e-9:
            at = x(inverse)
            parts.append(f'<line class="grid" x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{_HEIGHT - _BOTTOM}"/>')
            parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{label}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">percentile of requests, %</text>')
    down = (top + _HEIGHT - _BOTTOM) / 2
    parts.append(f'<text transform="translate(12 {down:.0f}) rotate(-90)" text-anchor="middle">latency</text>')
    for index, curve in enumerate(curves):
        colour, dash = LOOK[curve.role]
        points = [
            (x(1 / (1 - quantile) if quantile < 1 else 10**axes.nines), y(us))
            for us, quantile, *_ in curve.distribution.spectrum
        ]
        if not points:
            continue
        steps = f"M{points[0][0]:.1f},{points[0][1]:.1f}" + "".join(f"L{px:.1f},{py:.1f}" for px, py in points[1:])
        look = f'style="stroke: var({colour})"' + (f' stroke-dasharray="{dash}"' if dash else "")
        parts.append(f'<path class="curve" d="{steps}" {look}/>')
        at = _LEFT + index % columns * (_WIDTH - _LEFT) / columns
        height = 12 + _LEGEND_ROW * (index // columns)
        parts.append(f'<path class="curve" d="M{at:.0f},{height}h18" {look}/>')
        parts.append(f'<text x="{at + 23:.0f}" y="{height + 4}">{escape(curve.name)}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _inverse(distribution: Distribution) -> float:
    """How many nines the curve reaches, as log10(1/(1-q)) of its last row below 1, rounded up a little."""
    inner = [row[1] for row in distribution.spectrum if row[1] < 1]
    return math.log10(1 / (1 - inner[-1])) + 0.3 if inner else 1.0


def _described(curves: Sequence[Curve], title: str) -> str:
    told = []
    for curve in curves:
        p50, p99 = curve.distribution.percentile_us(50), curve.distribution.percentile_us(99)
        if p50 is not None and p99 is not None:
            told.append(f"{curve.name}: p50 {p50 / 1000:.2f} ms, p99 {p99 / 1000:.2f} ms")
    return f"{title}. {'; '.join(told)}"
