"""The folders of a checkout. The bench runs only from a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BENCH", "BUILD", "REPOSITORY", "SCENARIOS", "TOPOLOGY"]

BENCH = Path(__file__).resolve().parents[3]
REPOSITORY = BENCH.parent
SCENARIOS = BENCH / "scenarios"
TOPOLOGY = BENCH / "topology"
BUILD = REPOSITORY / "build" / "bench"
