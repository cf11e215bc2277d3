"""Numbers from raw samples. Samples are microseconds unless said; nothing here rounds before it must."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

from onewrite_lab.stall import STALL_MS

__all__ = ["STALL_US", "bootstrap_difference", "bootstrap_ratio", "mode", "percentile", "share_over"]

STALL_US = STALL_MS * 1000


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that is not less than `percent` % of all samples (nearest rank, as HdrHistogram counts)."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[min(rank, len(ordered)) - 1]


def share_over(samples: Sequence[float], limit: float = STALL_US) -> float:
    """The share of samples above `limit`, 0 to 1."""
    return sum(1 for sample in samples if sample > limit) / len(samples) if samples else 0.0


def mode(values: Sequence[float]) -> float | None:
    """The commonest value; of equals the larger, so that doubt counts against the client."""
    if not values:
        return None
    counts = Counter(values)
    most = max(counts.values())
    return max(value for value, count in counts.items() if count == most)


def bootstrap_difference(
    first: Sequence[float], second: Sequence[float], resamples: int = 1000, seed: int = 1
) -> tuple[float, float]:
    """The 95 % bootstrap interval of median(first) - median(second)."""
    chance = random.Random(seed)
    differences = sorted(
        percentile(chance.choices(first, k=len(first)), 50) - percentile(chance.choices(second, k=len(second)), 50)
        for _ in range(resamples)
    )
    return differences[int(resamples * 0.025)], differences[min(resamples - 1, int(resamples * 0.975))]


def bootstrap_ratio(
    mine: Sequence[float], other: Sequence[float], resamples: int = 1000, seed: int = 1
) -> tuple[float, float, float] | None:
    """Median and 95 % bootstrap interval of mine / other, pair by pair of neighbouring rounds; None without a pair."""
    ratios = [first / second for first, second in zip(mine, other, strict=False) if second]
    if not ratios:
        return None
    chance = random.Random(seed)
    medians = sorted(percentile(chance.choices(ratios, k=len(ratios)), 50) for _ in range(resamples))
    low, high = medians[int(resamples * 0.025)], medians[min(resamples - 1, int(resamples * 0.975))]
    return percentile(ratios, 50), low, high
