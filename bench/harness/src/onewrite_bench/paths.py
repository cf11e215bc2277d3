"""The folders of a checkout. The bench runs only from a checkout."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["BENCH", "BUILD", "REPORTS", "REPOSITORY", "SCENARIOS", "TOPOLOGY"]

BENCH = Path(__file__).resolve().parents[3]
REPOSITORY = BENCH.parent
SCENARIOS = BENCH / "scenarios"
TOPOLOGY = BENCH / "topology"
BUILD = REPOSITORY / "build" / "bench"
REPORTS = Path(os.environ.get("ONEWRITE_REPORTS") or REPOSITORY / "build" / "reports")
