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
    "*control* writes head and body apart with Nagle on; *stock* is the base library; *onewrite* is the adapter. "
    "**Bold** stalls: at least 60% of the requests are late. Mixed: 5% to 60% are late, and each mode has its share "
    "and median. Else the cell is clean. A request is late if it is slower than the midpoint between a raw socket that "
    "makes one write and the control. *segments* are the kernel's count per request, in the order of the columns; "
    "`1+` is one, and one for each piece of a streamed body."
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
    """The targets of the cell's group that stall like its own: their names, or which of all they are."""
    mine = [one for one in shown if one.group == cell.group]
    names = list(dict.fromkeys(one.target for one in mine if one.stalls == cell.stalls))
    others = list(dict.fromkeys(one.target for one in mine if one.stalls != cell.stalls))
    every = {one.target for one in shown}
    if len(names) < 3 or {*names, *others} != every or len(others) > len(names):
        return ", ".join(names)
    return f"all but {', '.join(others)}" if others else "all"


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
    if word == "stalls":
        server = any(cell.role == "shown" and cell.kind in ("onewrite", "patched") for cell in seen)
        return f"**{text}**{share}" + (": the server's wait" if server else "")
    return text + share


def _spread(middle: float, parts: Sequence[float]) -> str:
    """A median, with the lowest and the highest median of its parts."""
    return f"{ms(middle)} ({ms(min(parts))}–{ms(max(parts))})" if parts else ms(middle)


def _segments(cells: Sequence[Cell]) -> str:
    modes = [round(cell.segments_median) for cell in cells if cell.segments_median is not None]
    return f"{min(modes)}{'+' if max(modes) > min(modes) else ''}" if modes else "-"


def sample(cells: Sequence[Cell]) -> str:
    """How many requests a cell has, of one client at one place."""
    counts = [len(cell.latencies_us) for cell in cells if cell.measured]
    rounds = [len(cell.rounds_us) for cell in cells if cell.measured]
    return f"n = {_range(counts)} requests per client and place, in {_range(rounds)} rounds" if counts else "n = 0"


def _range(numbers: Iterable[int]) -> str:
    each = sorted(numbers)
    return "–".join(dict.fromkeys((str(each[0]), str(each[-1]))))


def of_rates(rates: Sequence[RateResult]) -> Table:
    """A row per client and generator: percentiles for one rate, what became of each rate for several."""
    several = len({row.generator for row in rates}) > 1
    asked = list(dict.fromkeys(row.rate for row in rates))
    if len(asked) == 1:
        levels = {"p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "p99.9": "p999_us", "max": "max_us"}
        rows = [[*_client(row, several), *_percentiles(row, list(levels.values()))] for row in rates]
        return Table(("language", "client", *["generator"] * several, "reached", *levels, "n"), rows)
    rows_by: dict[tuple[str, ...], dict[int, str]] = {}
    for row in rates:
        rows_by.setdefault(tuple(_client(row, several)), {})[row.rate] = _at_rate(row)
    table = [[*who, *(of.get(rate, "-") for rate in asked)] for who, of in rows_by.items()]
    return Table(("language", "client", *["generator"] * several, *(f"{rate:,}/s" for rate in asked)), table)


def _client(row: RateResult, several: bool) -> list[str]:
    return [row.group, row.client, *[row.generator] * several]


def _percentiles(row: RateResult, names: Sequence[str]) -> list[str]:
    if row.missing or not row.turns:
        return [f"void: {row.missing or 'interrupted'}", *["-"] * (len(names) + 1)]
    reached = f"{median(turn['reached'] for turn in row.turns):.0f}/s"
    shown = []
    for name in names:
        values = [turn[name] for turn in row.turns]
        shown.append(ms(max(values)) if name == "max_us" else _spread(median(values), values))
    return [f"**{reached}**" if row.saturated else reached, *shown, str(sum(turn["requests"] for turn in row.turns))]


def _at_rate(row: RateResult) -> str:
    if row.missing or not row.turns:
        return f"void: {row.missing or 'interrupted'}"
    if row.saturated:
        return f"**{median(turn['reached'] for turn in row.turns):.0f}/s**"
    return " / ".join(ms(median(turn[name] for turn in row.turns)) for name in ("p50_us", "p99_us"))


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
