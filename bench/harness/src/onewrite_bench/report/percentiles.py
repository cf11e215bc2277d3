"""Percentile files in HdrHistogram's text layout (.hgrm), which hdr-plot and the online plotter read."""

from __future__ import annotations

import re
from pathlib import Path

from onewrite_bench.generators.measurement import Distribution
from onewrite_bench.verdict.results import Run

__all__ = ["curves", "hgrm", "write"]


def hgrm(distribution: Distribution) -> str:
    """The distribution with values in milliseconds."""
    lines = ["       Value     Percentile TotalCount 1/(1-Percentile)", ""]
    for value, quantile, count in distribution.spectrum:
        inverse = f"{1 / (1 - quantile):14.2f}" if quantile < 1 else "           inf"
        lines.append(f"{value / 1000:12.3f} {quantile:2.12f} {int(count):10d} {inverse}")
    total = int(distribution.spectrum[-1][2]) if distribution.spectrum else 0
    lines.append(f"#[Mean    = {(distribution.mean_us or 0) / 1000:12.3f}, StdDeviation   = {0:12.3f}]")
    lines.append(f"#[Max     = {(distribution.max_us or 0) / 1000:12.3f}, Total count    = {total:12d}]")
    return "\n".join(lines) + "\n"


def curves(run: Run) -> list[tuple[str, str, str, Distribution]]:
    """What can be drawn: (panel, curve, role, distribution)."""
    found = []
    for cell in run.cells:
        if cell.measured and len(cell.latencies_us) > 1:
            where = f"{cell.target}, {cell.body_bytes} B" if cell.body_bytes != 200 else cell.target
            found.append((f"{cell.group}, {where}", cell.client, cell.role, Distribution.of(cell.latencies_us)))
    for row in run.rates:
        if row.measurement is not None:
            distribution = Distribution.from_json(row.measurement["latency"])
            if distribution.spectrum:
                found.append((f"{row.group}, {row.target}, {row.rate:g}/s", row.client, row.role, distribution))
    return found


def write(run: Run, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for panel, curve, _, distribution in curves(run):
        name = re.sub(r"[^a-z0-9]+", "-", f"{run.scenario}-{panel}-{curve}".lower()).strip("-")
        (directory / f"{name}.hgrm").write_text(hgrm(distribution))
