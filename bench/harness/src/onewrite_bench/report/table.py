"""Tables, as plain text and as Markdown. A row is a group at a target; the columns are its clients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median, median_low

from onewrite_lab import stall

from onewrite_bench.verdict.judge import lines
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["READING", "Table", "of_cells", "of_rates", "of_records", "sample"]

_NUMBER = re.compile(r"^-?[\d.,]+( %|%| of \d+)?$|^-$")
_COLUMNS = ("control", "stock", "onewrite")

MOST_ROWS = 16
"""A longer table has a row per library for the targets where the control stalls, and one for the others."""

READING = (
    "A cell has the median of its requests in ms and, in brackets, the lowest and the highest median of a round. "
    "**Bold** stalls: at least 60% of the requests are late. Mixed: 5% to 60% are late, and each mode has its share "
    "and median. Else the cell is clean. A request is late if it took longer than the median of a raw socket that "
    "makes one write, and half of the time that the control took beyond it. Segments are the kernel's count per "
    "request, in the order of the columns."
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
    """One row per group and target, or per group in a long table. A missing measurement is `-`; a note says why."""
    shown = [cell for cell in cells if cell.role != "reference"]
    labels = list(dict.fromkeys(cell.client for cell in shown))
    labels = [label for label in _COLUMNS if label in labels] + [one for one in labels if one not in _COLUMNS]
    groups = len({cell.group for cell in shown}) > 1 or any(cell.language != "raw" for cell in shown)
    counted = any(cell.segments for cell in shown)
    rows: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in shown:
        rows.setdefault((cell.group, cell.target), {}).setdefault(cell.client, []).append(cell)
    if len(rows) > MOST_ROWS:
        rows = {}
        libraries = {cell.group for cell in shown if cell.language != "raw"}
        for cell in shown:
            where = _places(cell, shown) if cell.group in libraries else cell.target
            rows.setdefault((cell.group, where), {}).setdefault(cell.client, []).append(cell)
    late = lines(cells)
    table = []
    for (group, target), of in rows.items():
        line = [group] * groups + [target, *(_cell(of.get(label, []), late) for label in labels)]
        table.append(line + ["/".join(_segments(of.get(label, [])) for label in labels)] * counted)
    return Table((*["client"] * groups, "where", *labels, *["segments"] * counted), table)


def _places(cell: Cell, shown: Sequence[Cell]) -> str:
    """The targets of the cell's group that stall like its own, by their number if there are more than two."""
    names = list(dict.fromkeys(one.target for one in shown if (one.group, one.stalls) == (cell.group, cell.stalls)))
    return ", ".join(names) if len(names) < 3 else f"{len(names)} places"


def _cell(cells: Sequence[Cell], late: Mapping[tuple[str, str], float]) -> str:
    seen = [cell for cell in cells if cell.measured]
    if not seen:
        return "not run" if any(cell.missing for cell in cells) else "failed" if any(c.errors for c in cells) else "-"
    of = [late.get((cell.group, cell.target), inf) for cell in seen]
    times = [us for cell in seen for us in cell.latencies_us]
    count = sum(cell.late(line) for cell, line in zip(seen, of, strict=True))
    # Round n of all targets together: the spread is of the same places in each round.
    rounds = zip(*(cell.rounds_us for cell in seen), strict=False)
    medians = [median([us for samples in one for us in samples]) for one in rounds if any(one)]
    text = _spread(median_low(times), medians)
    word = stall.word(count, len(times))
    if word == "mixed":
        quick, slow = stall.modes(times, max(of))
        percent = round(100 * count / len(times))
        return f"mixed: {100 - percent}% at {ms(quick)}, {percent}% at {ms(slow)}"
    share = f", {count / len(times):.0%} late" if count and count < len(times) else ""
    return f"**{text}**{share}" if word == "stalls" else text + share


def _spread(middle: float, parts: Sequence[float]) -> str:
    """A median, with the lowest and the highest median of its parts."""
    return f"{ms(middle)} ({ms(min(parts))}–{ms(max(parts))})" if parts else ms(middle)


def _segments(cells: Sequence[Cell]) -> str:
    modes = [round(cell.segments_median) for cell in cells if cell.segments_median is not None]
    return "–".join(dict.fromkeys(str(edge(modes)) for edge in (min, max))) if modes else "-"


def sample(cells: Sequence[Cell]) -> str:
    """How many requests a cell has, of one client at one place."""
    counts = [len(cell.latencies_us) for cell in cells if cell.measured]
    rounds = [len(cell.rounds_us) for cell in cells if cell.measured]
    return f"n = {_range(counts)} requests per client and place, in {_range(rounds)} rounds" if counts else "n = 0"


def _range(numbers: Iterable[int]) -> str:
    each = sorted(numbers)
    return "–".join(dict.fromkeys((str(each[0]), str(each[-1]))))


def of_rates(rates: Sequence[RateResult]) -> Table:
    """One row per client and generator: below the overload the times, above it what was reached."""
    below = next((row.rate for row in rates if not row.overload), 0)
    above = next((row.rate for row in rates if row.overload), 0)
    several = len({row.generator for row in rates}) > 1
    headings = (
        "client",
        "",
        *["generator"] * several,
        f"{below}/s: median",
        "p90",
        "n",
        "late sends",
        f"{above}/s: reached",
    )
    rows = []
    for row in rates:
        if row.overload:
            continue
        same = (row.group, row.client, row.generator)
        over = next((one for one in rates if one.overload and (one.group, one.client, one.generator) == same), None)
        rows.append([row.group, row.client, *[row.generator] * several, *_times(row), _reached(over)])
    return Table(headings, rows)


def _times(row: RateResult) -> list[str]:
    if row.missing or not row.turns:
        return [f"void: {row.missing or 'interrupted'}", "-", "-", "-"]
    shown = []
    for name in ("p50_us", "p90_us"):
        values = [turn[name] for turn in row.turns]
        shown.append(_spread(median(values), values))
    late = [turn["late_sends"] for turn in row.turns if turn["late_sends"] is not None]
    return [*shown, str(sum(turn["requests"] for turn in row.turns)), str(sum(late)) if late else "-"]


def _reached(row: RateResult | None) -> str:
    if row is None or row.missing or not row.turns:
        return f"void: {row.missing if row is not None and row.missing else 'interrupted'}"
    values = [turn["reached"] for turn in row.turns]
    return f"{median(values):.0f} ({min(values):.0f}–{max(values):.0f})"


def of_records(rows: Sequence[list[str]]) -> Table:
    headings = (
        "wait",
        "client",
        "wait phase",
        "of it held by the kernel",
        "receive phase",
        "cause, and requests with it",
    )
    return Table(headings, [list(row) for row in rows])


def ms(us: float | None) -> str:
    """Microseconds shown as milliseconds with one digit: what 60 requests can tell."""
    return "-" if us is None else f"{us / 1000:.1f}"
