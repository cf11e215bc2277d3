"""Results over time: an entry that github-action-benchmark reads, and a file with a line per commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onewrite_bench.failures import BenchError
from onewrite_bench.verdict.results import Run

__all__ = ["OF_CONTROL", "SEGMENTS", "Point", "add", "entries", "read"]

OF_CONTROL = "p50 of control"
SEGMENTS = "segments per POST"


@dataclass(frozen=True)
class Point:
    """What one commit came to: by name of an entry, its value."""

    commit: str
    date: str
    values: dict[str, float]


def read(file: Path) -> list[Point]:
    """The points of a file, oldest first; none where there is no file. Raises BenchError where a line is no point."""
    points = []
    for number, line in enumerate(file.read_text().splitlines() if file.is_file() else (), 1):
        try:
            raw = json.loads(line)
            values = {str(name): float(value) for name, value in raw["values"].items()}
            points.append(Point(str(raw["commit"]), str(raw["date"]), values))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BenchError(f"{file}:{number}: {error}") from error
    return points


def add(file: Path, made: Sequence[dict[str, Any]], commit: str, date: str) -> list[Point]:
    """Add a commit's entries to a file; a commit that is there already is replaced, where it stands."""
    point = Point(commit, date, {entry["name"]: entry["value"] for entry in made})
    points = read(file)
    known = [index for index, one in enumerate(points) if one.commit == commit]
    if known:
        points[known[0]] = point
    else:
        points.append(point)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text("".join(json.dumps(asdict(one), sort_keys=True) + "\n" for one in points))
    part.replace(file)
    return points


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
                found.append({"name": f"{name} / {SEGMENTS}", "unit": "segments", "value": round(segments, 3)})
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
                    {"name": f"{name} / {OF_CONTROL}", "unit": "ratio", "value": round(ratio, 4), "extra": extra}
                )
    return found
