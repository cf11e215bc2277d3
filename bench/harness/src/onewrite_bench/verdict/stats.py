"""Numbers from raw samples, in microseconds unless said."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["percentile", "share_over"]


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that is not less than `percent` % of all samples (nearest rank, as HdrHistogram counts)."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[min(rank, len(ordered)) - 1]


def share_over(samples: Sequence[float], limit: float) -> float:
    """The share of samples above `limit`, 0 to 1."""
    return sum(1 for sample in samples if sample > limit) / len(samples) if samples else 0.0
