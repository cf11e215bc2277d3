"""The picture that comes first: for each language the control, the stock library and the adapter, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from onewrite_bench.report.axis import LOOK, Decades
from onewrite_bench.units import milliseconds
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Run

__all__ = ["Bar", "of_run", "svg"]

_WIDTH = 1000
_NAMES, _RIGHT, _TOP, _BOTTOM = 330, 90, 12, 46
_BAR, _GAP, _GROUP_GAP = 16, 3, 14


@dataclass(frozen=True)
class Bar:
    group: str
    client: str
    role: str
    p50_us: float


def of_run(run: Run) -> list[Bar]:
    """One bar per client: the median of all its requests at targets that stall, or at all where none does."""
    cells = [cell for cell in run.cells if cell.measured and not cell.beside and "cpu_us" not in cell.extra]
    if not any(cell.role == "adapter" for cell in cells):
        return []
    if any(cell.stalls for cell in cells):
        cells = [cell for cell in cells if cell.stalls]
    pooled: dict[tuple[str, str, str], list[int]] = {}
    for cell in cells:
        pooled.setdefault((cell.group, cell.client, cell.role), []).extend(cell.latencies_us)
    return [Bar(*key, stats.percentile(samples, 50)) for key, samples in pooled.items()]


def svg(bars: Sequence[Bar], title: str) -> str:
    """Horizontal bars on a logarithmic axis, grouped, with their values beside them."""
    axis = Decades.over([bar.p50_us for bar in bars])
    span = _WIDTH - _NAMES - _RIGHT
    groups = list(dict.fromkeys(bar.group for bar in bars))
    height = _TOP + _BOTTOM + len(bars) * (_BAR + _GAP) + len(groups) * _GROUP_GAP
    described = "; ".join(f"{bar.group}, {bar.client}: {milliseconds(bar.p50_us)} ms" for bar in bars)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(f"{title}. {described}")}">']
    foot = height - _BOTTOM
    for value, label in axis.ticks():
        x = _NAMES + span * axis.place(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{foot}"/>')
        parts.append(f'<text x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{label}</text>')
    middle = _NAMES + span / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{height - 8}" text-anchor="middle">median time of a POST, logarithmic</text>'
    )
    y = float(_TOP)
    for group in groups:
        mine = [bar for bar in bars if bar.group == group]
        y += _GROUP_GAP / 2
        centre = y + len(mine) * (_BAR + _GAP) / 2
        parts.append(f'<text class="group" x="4" y="{centre + 4:.1f}">{escape(group)}</text>')
        for bar in mine:
            width = max(2.0, span * axis.place(bar.p50_us))
            colour, _ = LOOK[bar.role]
            base = y + _BAR - 4
            parts.append(f'<text x="{_NAMES - 8}" y="{base:.1f}" text-anchor="end">{escape(bar.client)}</text>')
            place = f'x="{_NAMES}" y="{y:.1f}" width="{width:.1f}" height="{_BAR}"'
            parts.append(f'<rect {place} rx="2" style="fill: var({colour})"/>')
            shown = f"{milliseconds(bar.p50_us)} ms"
            parts.append(f'<text class="value" x="{_NAMES + width + 6:.1f}" y="{base:.1f}">{shown}</text>')
            y += _BAR + _GAP
        y += _GROUP_GAP / 2
    parts.append("</svg>")
    return "".join(parts)
