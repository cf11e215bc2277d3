"""Tables, as plain text and as Markdown. A row is a group at a target; the columns are its clients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onewrite_lab.stall import CONTROL_SHARE

from onewrite_bench.verdict.judge import lines
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["READING", "Table", "beside", "milliseconds", "of_cells", "of_rates", "of_records"]

_NUMBER = re.compile(r"^-?[\d.,]+( %|%| of \d+)?$|^-$")
_COLUMNS = ("control", "stock", "onewrite")

MOST_ROWS = 40
"""A longer table has a row per group, with ranges over its targets."""

READING = (
    "Each cell: the median, and the share of late requests. A request is late if it took longer than a raw socket's "
    "median and half of the time that the control took beyond it. "
    "**Bold** stalls. Segments per request and TCP_NODELAY are the kernel's counts, in the order of the columns."
)


@dataclass(frozen=True)
class Table:
    headings: tuple[str, ...]
    rows: list[list[str]]

    def text(self) -> str:
        """Plain text without the marks of Markdown; a line parts the groups."""
        if not self.rows:
            return "(nothing was measured)"
        plain = [[value.replace("**", "").replace("`", "") for value in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.headings, *plain, strict=True)]
        lines = []
        for line in (self.headings, ["-" * width for width in widths], *plain):
            lines.append("  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip())
        return "\n".join(lines)

    def markdown(self) -> str:
        if not self.rows:
            return "Nothing was measured."
        columns = zip(*self.rows, strict=True)
        rule = ["---:" if all(_NUMBER.match(value) for value in column) else "---" for column in columns]
        lines = [list(self.headings), rule, *([value.replace("|", "\\|") for value in row] for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def of_cells(cells: Sequence[Cell]) -> Table:
    """One row per group, target and body size. A missing measurement is `-`; a note says why."""
    shown = [cell for cell in cells if cell.role != "reference"]
    labels = list(dict.fromkeys(cell.client for cell in shown))
    labels = [label for label in _COLUMNS if label in labels] + [one for one in labels if one not in _COLUMNS]
    sizes = len({cell.body_bytes for cell in shown}) > 1
    groups = len({cell.group for cell in shown}) > 1 or any(cell.language != "raw" for cell in shown)
    fresh = any(cell.fresh for cell in shown)
    headings = ["client"] * groups + ["where"] + ["body"] * sizes + labels + ["segments", "TCP_NODELAY"] * (not fresh)
    rows: dict[tuple[str, str, int], dict[str, list[Cell]]] = {}
    for cell in shown:
        rows.setdefault((cell.group, cell.target, cell.body_bytes), {}).setdefault(cell.client, []).append(cell)
    if len(rows) > MOST_ROWS:
        rows = {}
        for cell in shown:
            targets = len({other.target for other in shown if other.group == cell.group})
            rows.setdefault((cell.group, f"{targets} of them", 0), {}).setdefault(cell.client, []).append(cell)
    late = lines(cells)
    table = []
    for (group, target, body), of in rows.items():
        line = [group] * groups + [target] + [size(body)] * sizes
        line += [_cell(of.get(label, []), late) for label in labels]
        if not fresh:
            line += ["/".join(said(of.get(label, [])) for label in labels) for said in (_segments, _nodelay)]
        table.append(line)
    return Table(tuple(headings), table)


def _cell(cells: Sequence[Cell], late: Mapping[tuple[str, str, int], float]) -> str:
    seen = [cell for cell in cells if cell.measured]
    if not seen:
        return "not run" if any(cell.missing for cell in cells) else "failed" if any(c.errors for c in cells) else "-"
    times = sorted(cell.p50_us for cell in seen)
    shares = sorted(cell.share_late(late[cell.group, cell.target, cell.body_bytes]) for cell in seen)
    text = f"{_range(milliseconds(us) for us in times)} ms, {_range(f'{share:.0%}' for share in shares)}"
    return f"**{text}**" if shares[0] >= CONTROL_SHARE else text


def _range(ordered: Iterable[str]) -> str:
    each = list(ordered)
    return " to ".join(dict.fromkeys((each[0], each[-1])))


def _segments(cells: Sequence[Cell]) -> str:
    return "-".join(dict.fromkeys(f"{mode:.3g}" for mode in _extremes(cells))) or "-"


def _extremes(cells: Sequence[Cell]) -> list[float]:
    modes = [cell.segments_median for cell in cells if cell.segments_median is not None]
    return [min(modes), max(modes)] if modes else []


def _nodelay(cells: Sequence[Cell]) -> str:
    seen = [cell for cell in cells if cell.connections]
    return "-" if not seen else "off" if any(cell.bare_connections for cell in seen) else "on"


def beside(cells: Sequence[Cell]) -> str | None:
    """A sentence on the raw sockets that took turns with the clients."""
    seen = [cell for cell in cells if cell.role == "reference" and cell.measured]
    if not seen:
        return None
    low, high = (milliseconds(edge(cell.p50_us for cell in seen)) for edge in (min, max))
    late = lines(cells)
    share = max(cell.share_late(late[cell.group, cell.target, cell.body_bytes]) for cell in seen)
    return (
        "A raw socket with one write and TCP_NODELAY took turns with each of them. "
        f"Its p50 was {low} to {high} ms, with at most {share:.0%} of its requests late."
    )


def of_rates(rates: Sequence[RateResult]) -> Table:
    times = ("p50 ms", "p99 ms", "bridge alone p50 ms", "sent late p90 ms")
    headings = ("client", "", "offered /s", "reached /s", *times, "generator")
    rows = []
    for row in rates:
        why = row.missing or (None if row.requests else "interrupted")
        seen = map(milliseconds, (row.p50_us, row.p99_us, row.floor_us, row.late_us))
        figures = [f"void: {why}", *["-"] * 4] if why else [f"{row.reached:.0f}", *seen]
        rows.append([row.group, row.client, f"{row.rate}", *figures, row.generator])
    return Table(headings, rows)


def of_records(rows: Sequence[list[str]]) -> Table:
    headings = (
        "wait",
        "client",
        "wait phase",
        "of it held by the kernel",
        "receive phase",
        "cause, and requests that have it",
    )
    return Table(headings, [list(row) for row in rows])


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
