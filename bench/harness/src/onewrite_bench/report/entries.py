"""The results as github-action-benchmark reads them (`customSmallerIsBetter`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onewrite_bench.verdict.results import Run

__all__ = ["entries"]


def entries(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One entry per adapter row: its p50 as a share of the in-run control's, so that machines can be compared."""
    found: list[dict[str, Any]] = []
    for run in runs:
        for cell in run.cells:
            if cell.role != "adapter" or not cell.measured:
                continue
            name = f"{run.scenario} / {cell.group} / {cell.client} / {cell.target} / {cell.body_bytes} B"
            segments = cell.segments_per_request
            if segments is not None:
                found.append({"name": f"{name} / segments per POST", "unit": "segments", "value": round(segments, 3)})
            control = next(
                (
                    other
                    for other in run.cells
                    if (other.group, other.target, other.body_bytes) == (cell.group, cell.target, cell.body_bytes)
                    and other.role == "control"
                    and other.measured
                ),
                None,
            )
            if control is not None and cell.stalls:
                ratio = (cell.p50_ms or 0) / (control.p50_ms or 1)
                extra = f"adapter {cell.p50_ms:.2f} ms, control {control.p50_ms:.2f} ms"
                found.append(
                    {"name": f"{name} / p50 of control", "unit": "ratio", "value": round(ratio, 4), "extra": extra}
                )
    return found
