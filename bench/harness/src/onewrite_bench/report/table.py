"""Tables, as plain text and as Markdown. A row is a group at a target; the columns are its clients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median, median_low

from onewrite_lab import stall

from onewrite_bench.verdict.judge import lines
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["READING", "Table", "ms", "of_cells", "of_rates", "of_records", "sample", "span"]

_NUMBER = re.compile(r"^-?[\d.,]+( %|%| of \d+)?$|^-$")
_COLUMNS = ("control", "stock", "onewrite")

MOST_ROWS = 16
"""A longer table has a row per library for all targets where the control stalls, and one for the others."""

READING = (
    "A cell is the median of *n* requests in ms, ± the largest distance of a round's median from it. "
    "*control* writes head and body separately with Nagle on; *stock* is the base library, *onewrite* the adapter. A "
    "request is late if it is slower than the midpoint between a raw one-write socket and the control. **Bold**: at "
    "least 60% of the requests are late. *mixed*: 5% to 60% are late, and each mode has its share and median. Else the "
    "cell is clean. *segments* are TCP segments per request by the kernel's count, in the order of the columns."
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
        lines = [list(self.headings), *([value.replace("|", "\\|") for value in row] for row in self.rows)]
        head, *rows = ("| " + " | ".join(line) + " |" for line in lines)
        return "\n".join([head, f"|{'|'.join(rule)}|", *rows])


def of_cells(cells: Sequence[Cell]) -> Table:
    """One row per group and target, or per group in a long table. A missing measurement is `-`."""
    shown = [cell for cell in cells if cell.role != "reference"]
    labels = list(dict.fromkeys(cell.client for cell in shown))
    labels = [label for label in _COLUMNS if label in labels] + [one for one in labels if one not in _COLUMNS]
    groups = len({cell.group for cell in shown}) > 1 or any(cell.language != "raw" for cell in shown)
    several = len({cell.target for cell in shown}) > 1
    counted = any(cell.segments for cell in shown)
    rows: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in shown:
        rows.setdefault((cell.group, cell.target), {}).setdefault(cell.client, []).append(cell)
    if len(rows) > MOST_ROWS:
        rows = {}
        libraries = {cell.group for cell in shown if cell.language != "raw"}
        for cell in shown:
            where = _targets(cell, shown) if cell.group in libraries else cell.target
            rows.setdefault((cell.group, where), {}).setdefault(cell.client, []).append(cell)
    late = lines(cells)
    table = []
    for (group, target), of in rows.items():
        line = [group] * groups + [target] * several + [*(_cell(of.get(label, []), late) for label in labels)]
        table.append(line + ["/".join(_segments(of.get(label, [])) for label in labels)] * counted)
    return Table((*["client"] * groups, *["where"] * several, *labels, *["segments"] * counted), table)


def _targets(cell: Cell, shown: Sequence[Cell]) -> str:
    """The targets of the cell's group that stall like its own: their names, or `all but` and the other names."""
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
    # Round n of all targets together: each round has the same targets.
    rounds = zip(*(cell.rounds_us for cell in seen), strict=False)
    medians = [median([us for samples in one for us in samples]) for one in rounds if any(one)]
    middle = median_low(times)
    text = f"{ms(middle)}±{ms(max((abs(one - middle) for one in medians), default=0))}"
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


def _segments(cells: Sequence[Cell]) -> str:
    modes = [round(cell.segments_median) for cell in cells if cell.segments_median is not None]
    return f"{min(modes)}{'+' if max(modes) > min(modes) else ''}" if modes else "-"


def sample(cells: Sequence[Cell]) -> str:
    """The number of requests of a cell."""
    counts = [len(cell.latencies_us) for cell in cells if cell.measured] or [0]
    rounds = [len(cell.rounds_us) for cell in cells if cell.measured] or [0]
    return f"n = {span(min(counts), max(counts))} in {span(min(rounds), max(rounds))} rounds"


def span(low: object, high: object) -> str:
    """The two ends of a range, or one where they are equal."""
    return "–".join(dict.fromkeys((str(low), str(high))))


def of_rates(rates: Sequence[RateResult], whole: bool = True) -> Table:
    """A row per client: percentiles for one rate; p50 and p99, or the rate reached, for several.

    Not `whole`, the table has the rows of the first generator alone.
    """
    generators = list(dict.fromkeys(row.generator for row in rates))[: None if whole else 1]
    several = len(generators) > 1
    rates = [row for row in rates if row.generator in generators]
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
        return [f"void: {row.missing}", *["-"] * (len(names) + 1)]
    reached = f"{median(turn['reached'] for turn in row.turns):.0f}/s"
    shown = [ms((max if name == "max_us" else median)(turn[name] for turn in row.turns)) for name in names]
    return [f"**{reached}**" if row.saturated else reached, *shown, str(sum(turn["requests"] for turn in row.turns))]


def _at_rate(row: RateResult) -> str:
    if row.missing or not row.turns:
        return f"void: {row.missing}"
    if row.saturated:
        return f"**{median(turn['reached'] for turn in row.turns):.0f}/s**"
    return "/".join(ms(median(turn[name] for turn in row.turns)) for name in ("p50_us", "p99_us"))


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
    """Microseconds shown as milliseconds with one digit, the precision of 60 requests."""
    return "-" if us is None else f"{us / 1000:.1f}"
