from __future__ import annotations

import random

import pytest

from onewrite_bench.verdict import stats


@pytest.mark.parametrize(("percent", "expected"), [(0, 1), (1, 1), (50, 50), (99, 99), (99.1, 100), (100, 100)])
def test_percentile_is_the_nearest_rank(percent: float, expected: int) -> None:
    samples = list(range(1, 101))
    random.Random(3).shuffle(samples)
    assert stats.percentile(samples, percent) == expected


def test_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        stats.percentile([], 50)


def test_share_counts_what_is_over_the_limit_and_not_at_it() -> None:
    assert stats.share_over([30_000, 30_001, 100, 44_000]) == 0.5
    assert stats.share_over([]) == 0.0


def test_mode_prefers_the_larger_of_equals() -> None:
    assert stats.mode([1.0, 2.0, 1.0]) == 1.0
    assert stats.mode([1.0, 2.0]) == 2.0
    assert stats.mode([]) is None


def test_bootstrap_interval_holds_a_clear_difference_and_zero_when_there_is_none() -> None:
    chance = random.Random(7)
    slow = [44_000 + chance.gauss(0, 400) for _ in range(100)]
    fast = [300 + chance.gauss(0, 50) for _ in range(100)]
    low, high = stats.bootstrap_difference(slow, fast)
    assert 43_000 < low <= high < 45_000
    other = [300 + chance.gauss(0, 50) for _ in range(100)]
    low, high = stats.bootstrap_difference(fast, other)
    assert low < 20
    assert high > -20


def test_a_ratio_of_neighbouring_rounds_survives_a_busy_minute() -> None:
    stock = [100.0, 100.0, 1000.0, 100.0, 100.0]
    mine = [50.0, 50.0, 500.0, 50.0, 50.0]
    assert stats.bootstrap_ratio(mine, stock) == (0.5, 0.5, 0.5)
    assert stats.bootstrap_ratio([], stock) is None
    spread = stats.bootstrap_ratio([50.0, 80.0, 60.0], [100.0, 100.0, 100.0])
    assert spread is not None
    assert spread[1] <= spread[0] <= spread[2]
