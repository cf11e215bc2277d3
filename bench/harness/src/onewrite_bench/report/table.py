"""Tables, as plain text and as Markdown. A row is a group at a target; the columns are its clients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onewrite_lab.stall import STALL_MS, control_stalls

from onewrite_bench.units import milliseconds, size
from onewrite_bench.verdict.judge import references
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["READING", "Table", "beside", "of_cells", "of_rates", "of_records"]

_NUMBER = re.compile(r"^-?[\d.,]+( %|%| of \d+)?$|^-$")
_COLUMNS = ("control", "stock", "onewrite")

READING = (
    f"Each cell: the median, and the share of requests that took over {STALL_MS} ms more than a raw socket's median. "
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
    """One row per group, target and body size. What was not measured is `-`; a note says why."""
    shown = [cell for cell in cells if cell.role != "reference"]
    labels = list(dict.fromkeys(cell.client for cell in shown))
    labels = [label for label in _COLUMNS if label in labels] + [one for one in labels if one not in _COLUMNS]
    sizes = len({cell.body_bytes for cell in shown}) > 1
    groups = len({cell.group for cell in shown}) > 1 or any(cell.language != "raw" for cell in shown)
    good = references(cells)
    rows: dict[tuple[str, str, int], dict[str, Cell]] = {}
    for cell in shown:
        rows.setdefault((cell.group, cell.target, cell.body_bytes), {})[cell.client] = cell
    fresh = any(cell.fresh for cell in shown)
    headings = ["client"] * groups + ["where"] + ["body"] * sizes + labels + ["segments", "TCP_NODELAY"] * (not fresh)
    lines = []
    for (group, target, body), of in rows.items():
        reference = good.get((group, target, body))
        line = [group] * groups + [target] + [size(body)] * sizes
        line += [_cell(of.get(label), reference) for label in labels]
        if not fresh:
            line += [" / ".join(said(of.get(label)) for label in labels) for said in (_segments, _nodelay)]
        lines.append(line)
    return Table(tuple(headings), lines)


def _cell(cell: Cell | None, reference: Cell | None) -> str:
    if cell is None or not cell.measured:
        return "-" if cell is None else "not run" if cell.missing else "failed" if cell.errors else "-"
    share = cell.share_late(reference)
    text = f"{milliseconds(cell.p50_us)} ms, {share:.0%}"
    return f"**{text}**" if control_stalls(share) else text


def _segments(cell: Cell | None) -> str:
    return "-" if cell is None or cell.segments_mode is None else f"{cell.segments_mode:.3g}"


def _nodelay(cell: Cell | None) -> str:
    return "-" if cell is None or not cell.connections else "off" if cell.bare_connections else "on"


def beside(cells: Sequence[Cell]) -> str | None:
    """One sentence on the raw sockets that took turns with the clients."""
    seen = [cell for cell in cells if cell.role == "reference" and cell.measured]
    if not seen:
        return None
    low, high = (milliseconds(edge(cell.p50_us for cell in seen)) for edge in (min, max))
    share = max(cell.share_late(cell) for cell in seen)
    return (
        "A raw socket with one write and TCP_NODELAY took turns with each of them. "
        f"Its p50 was {low} to {high} ms, with at most {share:.0%} of its requests late."
    )


def of_rates(rates: Sequence[RateResult]) -> Table:
    headings = ("client", "", "offered /s", "reached /s", "p50 ms", "p99 ms", "bridge alone p50 ms", "sent late p90 ms")
    rows = []
    for row in rates:
        head = [row.group, row.client, f"{row.rate:g}"]
        seen = row.measurement
        if seen is None or seen["void"]:
            why = f"void: {seen['void']}" if seen is not None else f"not run: {row.missing or 'interrupted'}"
            rows.append([*head, why, *["-"] * 4])
            continue
        times = (seen["p50_us"], seen["p99_us"], row.floor_p50_us, seen["slip_p90_us"])
        rows.append([*head, f"{seen['achieved_rate']:.0f}", *map(milliseconds, times)])
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
