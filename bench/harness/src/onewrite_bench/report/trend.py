"""Results over commits, as a page for the documentation site: a small plot per scenario and group, without script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from onewrite_bench.report.history import OF_CONTROL, SEGMENTS, Point
from onewrite_bench.report.table import Table
from onewrite_bench.verdict import stats

__all__ = ["page", "svg"]

SHOWN = 100
"""Commits that a plot has room for: the last ones."""

BEFORE = 10
"""Commits before the last that it is compared with."""

_WIDTH, _HEIGHT = 460, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 30
#: Readable on white and on black; the dash tells neighbours apart without colour.
_LOOK = (
    ("#2da44e", ""),
    ("#0969da", "6 3"),
    ("#bf8700", "2 3"),
    ("#cf222e", "8 3 2 3"),
    ("#8250df", "4 4"),
    ("#768390", "1 3"),
)


@dataclass(frozen=True)
class Series:
    """One row of a scenario: `group`, and what tells it from its neighbours. None where a commit has no value."""

    scenario: str
    group: str
    label: str
    values: tuple[float | None, ...]

    @property
    def last(self) -> float | None:
        return self.values[-1]


def _series(points: Sequence[Point], metric: str) -> list[Series]:
    names = dict.fromkeys(name for point in points for name in point.values if name.endswith(f" / {metric}"))
    found = []
    for name in names:
        scenario, group, *rest = name.removesuffix(f" / {metric}").split(" / ")
        found.append(Series(scenario, group, ", ".join(rest), tuple(point.values.get(name) for point in points)))
    return found


def page(points: Sequence[Point]) -> str:
    """Markdown with plots in it."""
    opening = (
        "# Results over time\n\nWhat `make bench` came to at each commit on main, measured by the workflow `bench`. "
        "Shown is the adapter's median as a share of the in-run control's (Nagle on, two writes): machines differ, the "
        "share does not. Whether a change made something slower is not read from here but from "
        "`make -C bench compare`, which runs both revisions on one machine in turns."
    )
    if not points:
        return f"{opening}\n\nNothing has been recorded yet.\n"
    points = points[-SHOWN:]
    parts = [opening, f"{len(points)} commits, from {_short(points[0])} to {_short(points[-1])}."]
    series = _series(points, OF_CONTROL)
    for scenario in dict.fromkeys(one.scenario for one in series):
        mine = [one for one in series if one.scenario == scenario]
        figures = []
        for group in dict.fromkeys(one.group for one in mine):
            drawn = [one for one in mine if one.group == group]
            figures.append(f"<figure><figcaption>{escape(group)}</figcaption>{svg(drawn, points)}</figure>")
        plots = "\n".join(figures)  # no blank line: Markdown would end the block there
        parts += [f"## {scenario}", f'<div class="plots">\n{plots}\n</div>', _table(mine).markdown()]
    parts.append(_segments(_series(points, SEGMENTS)))
    return "\n\n".join(parts) + "\n"


def _short(point: Point) -> str:
    return f"{point.commit[:10]} ({point.date[:10]})"


def _table(series: Sequence[Series]) -> Table:
    rows = []
    for one in series:
        earlier = [value for value in one.values[:-1] if value is not None][-BEFORE:]
        last = "-" if one.last is None else f"{one.last:.4f}"
        rows.append([one.group, one.label, last, f"{stats.percentile(earlier, 50):.4f}" if earlier else "-"])
    return Table(("group", "client, frontend, body", "last", f"median of the {BEFORE} before"), rows)


def _segments(series: Sequence[Series]) -> str:
    more = [one for one in series if one.last is not None and one.last > _least(one) + 0.05]
    heading = "## Segments per POST\n\n"
    if not more:
        return f"{heading}None of {len(series)} rows takes more segments than it once took."
    rows = [[one.scenario, one.group, one.label, f"{one.last:.2f}", f"{_least(one):.2f}"] for one in more]
    return heading + Table(("scenario", "group", "client, frontend, body", "last", "once"), rows).markdown()


def _least(series: Series) -> float:
    return min(value for value in series.values if value is not None)


def svg(series: Sequence[Series], points: Sequence[Point]) -> str:
    """One plot: commits from left to right, the share of the control's median upwards, logarithmic."""
    seen = [value for one in series for value in one.values if value]
    low = math.floor(math.log10(min(seen))) if seen else -2
    high = max(math.ceil(math.log10(max(seen)) + 1e-9) if seen else 0, low + 1)

    def x(index: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (index / (len(points) - 1) if len(points) > 1 else 0.5)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - math.log10(value)) / (high - low)

    bottom = y(10.0**low)
    height = bottom + _BOTTOM + 16 * len(series)
    described = "; ".join(f"{one.label}: {one.last:.4f}" for one in series if one.last is not None)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(described)}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(
            f'<path d="M{_LEFT},{at:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" opacity=".2"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for index, anchor in ((0, "start"), (len(points) - 1, "end")) if len(points) > 1 else ((0, "middle"),):
        commit = escape(points[index].commit[:10])
        parts.append(f'<text x="{x(index):.1f}" y="{bottom + 16:.1f}" text-anchor="{anchor}">{commit}</text>')
    for number, one in enumerate(series):
        colour, dash = _LOOK[number % len(_LOOK)]
        stroke = f'stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
        for run in _runs(one.values):
            line = "L".join(f"{x(index):.1f},{y(value):.1f}" for index, value in run)
            parts.append(f'<path fill="none" d="M{line}" {stroke}/>')
            for index, value in run:
                told = f"{points[index].commit[:10]}, {points[index].date[:10]}: {one.label}: {value:.4f}"
                parts.append(
                    f'<circle cx="{x(index):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}">'
                    f"<title>{escape(told)}</title></circle>"
                )
        row = bottom + _BOTTOM + 16 * number + 4
        parts.append(f'<path fill="none" d="M{_LEFT},{row:.1f}h24" {stroke}/>')
        parts.append(f'<text x="{_LEFT + 30}" y="{row + 4:.1f}">{escape(one.label)}</text>')
    return "".join([*parts, "</svg>"])


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """The stretches of a series between commits that have no value: a line must not lead over them."""
    runs: list[list[tuple[int, float]]] = [[]]
    for index, value in enumerate(values):
        if value:
            runs[-1].append((index, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
