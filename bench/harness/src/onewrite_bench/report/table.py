"""Tables, as plain text and as Markdown. A table is headings and rows of strings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onewrite_bench.units import milliseconds, size
from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["Table", "beside", "has_costs", "of_cells", "of_costs", "of_rates"]

_NUMBER = re.compile(r"^-?[\d.,]+( %|%| of \d+| to [\d.]+| [kM]?B)?$|^± \d+$|^-$")


@dataclass(frozen=True)
class Table:
    headings: tuple[str, ...]
    rows: list[list[str]]

    def numeric(self) -> list[bool]:
        """Which columns hold numbers only: they are set to the right."""
        reasons = [
            [value for value in column if not value.startswith("not run")] for column in zip(*self.rows, strict=True)
        ]
        return [bool(values) and all(_NUMBER.match(value) for value in values) for values in reasons]

    def text(self) -> str:
        if not self.rows:
            return "(nothing was measured)"
        numeric = self.numeric()
        # A long reason in the last column must not push the table apart.
        shown = [
            [value for value in column if not value.startswith("not run")] for column in zip(*self.rows, strict=True)
        ]
        widths = [max(len(heading), *map(len, values), 0) for heading, values in zip(self.headings, shown, strict=True)]
        grouped = len({row[0] for row in self.rows}) < len(self.rows)
        lines: list[str] = []
        previous = None
        for line in (list(self.headings), ["-" * width for width in widths], *self.rows):
            if grouped and line in self.rows and previous is not None and line[0] != previous:
                lines.append("")
            padded = [
                value.rjust(width) if right and not value.startswith("not run") else value.ljust(width)
                for value, width, right in zip(line, widths, numeric, strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
            previous = line[0] if line in self.rows else None
        return "\n".join(lines)

    def markdown(self) -> str:
        if not self.rows:
            return "Nothing was measured."
        rule = ["---:" if right else "---" for right in self.numeric()]
        lines = [list(self.headings), rule, *([value.replace("|", "\\|") for value in row] for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def beside(cells: Sequence[Cell]) -> str | None:
    """One sentence on the good controls that took turns with the languages' clients."""
    seen = [cell for cell in cells if cell.beside and cell.measured]
    if not seen:
        return None
    p50s = [(cell.p50_ms or 0.0) * 1000 for cell in seen]
    share = max(cell.share_over or 0.0 for cell in seen)
    low, high = milliseconds(min(p50s)), milliseconds(max(p50s))
    return (
        "A raw socket with one write and TCP_NODELAY took turns with each language as the good control. "
        f"Its p50 was {low} to {high} ms, with at most {share:.0%} of its requests over {seen[0].stall_us // 1000} ms."
    )


def of_cells(cells: Sequence[Cell]) -> Table:
    """One row per cell; what was not measured is `-`, or the reason. Good controls are in `beside`."""
    cells = [cell for cell in cells if not cell.beside]
    sizes = len({cell.body_bytes for cell in cells}) > 1
    limits = {cell.stall_us // 1000 for cell in cells}
    over = f"over {max(limits)} ms" if len(limits) == 1 else "stalled"
    headings = ["language", "client", "frontend", "p50 ms", over, "segments per POST", "TCP_NODELAY"]
    connections = any(cell.extra.get("per_connection") for cell in cells)
    if connections:
        headings[5:] = ["connections", "all of them s"]
    if sizes:
        headings[2] = "body"
    languages = list(dict.fromkeys(cell.language for cell in cells))
    ordered = sorted(enumerate(cells), key=lambda pair: (languages.index(pair[1].language), pair[0]))
    rows = []
    for _, cell in ordered:
        head = [cell.language, cell.client, size(cell.body_bytes) if sizes else cell.target]
        if cell.failed or cell.skipped:
            rows.append([*head, "-", "-", "-", f"not run: {cell.failed or cell.skipped}"])
        elif not cell.latencies_us:
            why = f"not run: every request failed: {cell.error_sample}" if cell.errors else "-"
            rows.append([*head, "-", "-", "-", why])
        else:
            p50 = milliseconds((cell.p50_ms or 0) * 1000)
            if connections:
                total_s = sum(cell.latencies_us) / 1e6
                rows.append([*head, p50, f"{cell.share_over:.0%}", str(len(cell.latencies_us)), f"{total_s:.2f}"])
                continue
            segments = cell.segments_per_request
            nodelay = f"{cell.connections_nodelay} of {cell.connections}" if cell.connections else "-"
            rows.append([*head, p50, f"{cell.share_over:.0%}", "-" if segments is None else f"{segments:.2f}", nodelay])
    return Table(tuple(headings), rows)


def has_costs(cells: Sequence[Cell]) -> bool:
    return any("cpu_us" in cell.extra for cell in cells)


_COST_HEADINGS = (
    "client",
    "p50 us",
    "of stock's p50",
    "95 % interval",
    "CPU us per call",
    "of stock's CPU",
    "95 % of that",
    "segments per POST",
)


def of_costs(cells: Sequence[Cell]) -> Table:
    """What a call costs, for the clients of one group. Ratios are to the stock client's neighbouring rounds."""
    stock = next((cell for cell in cells if cell.role == "control"), None)
    rows = []
    for cell in cells:
        if cell.failed or cell.skipped or not cell.latencies_us:
            why = cell.failed or cell.skipped or cell.error_sample
            rows.append([cell.client, *["-"] * 6, f"not run: {why}" if why else "-"])
            continue
        segments = cell.segments_per_request
        cpu = cell.extra.get("cpu_us")
        rows.append(
            [
                cell.client,
                f"{(cell.p50_ms or 0) * 1000:.0f}",
                *_of_stock(cell, stock, "round_p50_us"),
                f"{stats.percentile(cpu, 50):.0f}" if cpu else "-",
                *_of_stock(cell, stock, "cpu_us"),
                "-" if segments is None else f"{segments:.2f}",
            ]
        )
    return Table(_COST_HEADINGS, rows)


def _of_stock(cell: Cell, stock: Cell | None, what: str) -> list[str]:
    """The ratio and its interval; the stock client beside itself is 1."""
    if stock is None or what not in stock.extra or what not in cell.extra:
        return ["-", "-"]
    if cell is stock:
        return ["1.00", "-"]
    ratio = stats.bootstrap_ratio(cell.extra[what], stock.extra[what])
    return ["-", "-"] if ratio is None else [f"{ratio[0]:.2f}", f"{ratio[1]:.2f} to {ratio[2]:.2f}"]


def of_rates(rates: Sequence[RateResult]) -> Table:
    headings = (
        "language",
        "client",
        "offered /s",
        "reached /s",
        "p50 ms",
        "p99 ms",
        "bridge floor p50 ms",
        "in process p50 ms",
        "of it send + wait",
        "sent late p90 ms",
        "counted s",
        "generator",
    )
    rows = []
    for row in rates:
        head = [row.language, row.client, f"{row.rate:g}"]
        if row.measurement is None:
            rows.append([*head, *["-"] * 8, f"not run: {row.failed or row.skipped or 'interrupted'}"])
            continue
        seen = row.measurement
        void = f", void: {seen['void']}" if seen["void"] else ""
        measured = (row.in_process or {}).get("phases_p50_us") or {}
        phases = {name: measured[name] for name in ("send", "wait") if name in measured}
        inside = (row.in_process or {}).get("latency_p50_us")
        rows.append(
            [
                *head,
                f"{seen['achieved_rate']:.0f}",
                milliseconds(row.p50_us),
                milliseconds(row.p99_us),
                milliseconds(row.floor_p50_us),
                milliseconds(inside),
                f"{milliseconds(phases['send'])} + {milliseconds(phases['wait'])}" if len(phases) > 1 else "-",
                milliseconds(seen["slip_p90_us"]),
                f"{seen['seconds']:.0f}",
                seen["generator"] + void,
            ]
        )
    phased = headings.index("of it send + wait")
    if all(row[phased] == "-" for row in rows):  # no client had hooks
        return Table(headings[:phased] + headings[phased + 1 :], [row[:phased] + row[phased + 1 :] for row in rows])
    return Table(headings, rows)
