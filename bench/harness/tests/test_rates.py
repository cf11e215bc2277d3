"""Verdicts of the constant-rate part."""

from __future__ import annotations

import pytest

from onewrite_bench.engines.rates import judge
from onewrite_bench.generators.measurement import Distribution, Measurement
from onewrite_bench.verdict.results import RateResult


def row(role: str, p50_us: int, slip_us: float = 100.0, reached: float = 300.0) -> RateResult:
    made = RateResult("node", "node", role, role, "buffered", 300, 1.35)
    latency = Distribution.of([p50_us] * 100)
    seen = Measurement("built-in", "1", 300.0, reached, 10, 5.0, 1500, 0, None, slip_us, latency)
    made.measurement = seen.judge(may_collapse=role == "control").to_json()
    return made


@pytest.mark.parametrize(
    ("control", "adapter", "state"),
    [
        (row("control", 2_900_000, reached=186), row("adapter", 1200), "clean"),
        (row("control", 44_000), row("adapter", 43_000), "slow"),
        (row("control", 1200), row("adapter", 1200), "inconclusive"),
        (row("control", 44_000), row("adapter", 1200, slip_us=6000), "inconclusive"),
        (row("control", 44_000), row("adapter", 1200, reached=200), "inconclusive"),
    ],
)
def test_verdicts(control: RateResult, adapter: RateResult, state: str) -> None:
    verdicts = judge([control, adapter])
    assert [(verdict.state, verdict.counts) for verdict in verdicts] == [(state, False)]


def test_a_client_that_was_not_measured_says_why() -> None:
    missing = RateResult("ruby", "ruby", "adapter", "adapter", "buffered", 300, 1.35, skipped="no driver")
    assert judge([missing])[0].text == "no measurement of the adapter (no driver)"
