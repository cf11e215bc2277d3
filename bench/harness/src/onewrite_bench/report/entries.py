"""The results as github-action-benchmark reads them (`customSmallerIsBetter`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onewrite_bench.verdict.results import Run

__all__ = ["entries"]


def entries(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Two entries per adapter row: segments, and its p50 as a share of the control's, so that machines compare."""
    found: list[dict[str, Any]] = []
    for run in runs:
        controls = {(cell.group, cell.target, cell.body_bytes): cell for cell in run.cells if cell.role == "control"}
        for cell in run.cells:
            if cell.role != "adapter" or not cell.measured:
                continue
            name = f"{run.scenario} / {cell.group} / {cell.target} / {cell.body_bytes} B"
            if cell.segments_median is not None:
                entry = {"name": f"{name} / segments per POST", "unit": "segments", "value": cell.segments_median}
                found.append(entry)
            control = controls.get((cell.group, cell.target, cell.body_bytes))
            if cell.stalls and control is not None and control.measured:
                value = round(cell.p50_us / (control.p50_us or 1), 4)
                extra = f"adapter {cell.p50_us / 1000:.2f} ms, control {control.p50_us / 1000:.2f} ms"
                found.append({"name": f"{name} / p50 of control", "unit": "ratio", "value": value, "extra": extra})
    return found
