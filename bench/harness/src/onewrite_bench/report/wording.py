"""What the terminal and Markdown say in the same words."""

from __future__ import annotations

from onewrite_bench.report.table import Table, beside, has_costs, of_cells, of_costs, of_rates
from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Run, Verdict

__all__ = ["intervals", "story", "tables", "verdict_line", "word"]


def word(verdict: Verdict) -> str:
    """Its state, or the faults that it names."""
    kinds = verdict.details.get("faults") if verdict.state in FAULTS else None
    return ", ".join(FAULTS[kind] for kind in kinds or [verdict.state] if kind in FAULTS) or verdict.state


def verdict_line(verdict: Verdict) -> str:
    return f"{verdict.subject}: {word(verdict)}: {verdict.text}"


def intervals(verdict: Verdict) -> str:
    """What the adapter saves per target, as a 95 % bootstrap interval of the difference of medians."""
    found = verdict.details.get("intervals_us") or {}
    parts = [f"{target} {low / 1000:.1f} to {high / 1000:.1f} ms" for target, (low, high) in found.items()]
    return "; ".join(parts) or "-"


def tables(run: Run) -> list[tuple[str, Table, list[str]]]:
    """The run's tables: (title, table, notes)."""
    found: list[tuple[str, Table, list[str]]] = []
    if has_costs(run.cells):
        for group in dict.fromkeys(cell.group for cell in run.cells):
            found.append((group, of_costs([cell for cell in run.cells if cell.group == group]), []))
    elif run.cells:
        good = beside(run.cells)
        found.append(("", of_cells(run.cells), [good] if good else []))
    if run.rates:
        note = (
            "Constant rate through each language's bridge. Latencies count from the time a request was due. The bridge "
            "floor is the same path without the request upstream. In process: the driver's own schedule, no bridge. "
            "Send and wait are the adapter's own phases. "
        ) + _generators(run)
        found.append(("Constant rate", of_rates(run.rates), [note]))
    for section in run.sections:
        table = Table(tuple(section["headings"]), section["rows"])
        found.append((section["title"], table, section["notes"]))
    return found


def story(run: Run) -> str:
    return " ".join(run.story.split())


def _generators(run: Run) -> str:
    """Which generators ran, and for how long: what a collapse has become by then depends on it."""
    seen = [row.measurement for row in run.rates if row.measurement is not None]
    spans = dict.fromkeys(
        f"{one['generator']} ({one['generator_version']}) sent for {one['warmup_seconds']:.0f} s uncounted and "
        f"{one['seconds']:.0f} s counted"
        for one in seen
    )
    if not spans:
        return ""
    return f"{'; '.join(spans)}. Above a client's capacity the queue grows all the time, and p50 with it."
