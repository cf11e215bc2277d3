"""What a generator saw, in the one form that all of them yield."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["LATE_US", "Distribution", "Measurement", "own_lateness_us"]

LATE_US = 5_000
"""A generator whose own lateness is above this at its 90th percentile measured itself."""

RATE_TOLERANCE = 0.02

REACH_SHARE = 0.7
"""A collapse may reach so much less than what the client's own service time allows."""

LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


@dataclass
class Distribution:
    """A latency distribution: rows of [microseconds, quantile 0 to 1, requests up to here]."""

    mean_us: float | None = None
    max_us: float | None = None
    spectrum: list[list[float]] = field(default_factory=list)

    def percentile_us(self, percent: float) -> float | None:
        """The first value whose quantile reaches `percent` %."""
        for value, quantile, *_ in self.spectrum:
            if quantile >= percent / 100 - 1e-12:
                return value
        return self.spectrum[-1][0] if self.spectrum else None

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Distribution:
        return Distribution(raw.get("mean_us"), raw.get("max_us"), raw.get("spectrum") or [])

    @staticmethod
    def of(samples: list[int]) -> Distribution:
        """From raw samples in microseconds: the smallest sample that so many of all samples do not exceed."""
        ordered = sorted(samples)
        ranks = [max(1, math.ceil(level * len(ordered))) for level in LEVELS] if ordered else []
        rows: list[list[float]] = [[ordered[rank - 1], level, rank] for level, rank in zip(LEVELS, ranks, strict=False)]
        return Distribution(round(sum(ordered) / len(ordered), 1), ordered[-1], rows) if ordered else Distribution()


@dataclass
class Measurement:
    """One run of a generator. `void` says why its numbers mean nothing; None when they do not.

    It sent for `warmup_seconds` + `seconds`; latencies are those of the last `seconds`. `slip_p90_us` is the
    generator's own lateness, None where it cannot be told from the client's.
    """

    generator: str
    generator_version: str
    offered_rate: float
    achieved_rate: float
    connections: int
    seconds: float
    requests: int
    errors: int
    error_sample: str | None
    slip_p90_us: float | None
    latency: Distribution
    service: Distribution | None = None
    void: str | None = None
    warmup_seconds: float = 0.0

    def judge(self, may_collapse: bool) -> Measurement:
        """Fill in `void`. A client that is meant to be overloaded (`may_collapse`) may fall behind the offered rate."""
        behind = abs(self.achieved_rate - self.offered_rate) > RATE_TOLERANCE * self.offered_rate
        if self.requests <= 0:
            self.void = "no request was completed"
        elif self.errors:
            self.void = f"{self.errors} requests failed ({self.error_sample or 'no reason given'})"
        elif self.slip_p90_us is not None and self.slip_p90_us > LATE_US:
            self.void = f"the generator itself ran {self.slip_p90_us / 1000:.1f} ms late at its 90th percentile"
        elif behind and not may_collapse:
            self.void = f"{self.achieved_rate:g} of {self.offered_rate:g} requests per second were reached"
        return self

    def judge_reach(self, service_p50_us: float) -> Measurement:
        """Void a collapse that reached much less than the client can carry: then the generator held requests back.

        `service_p50_us` is what one request of this client takes, measured without the generator.
        """
        carried = self.connections / service_p50_us * 1e6 if service_p50_us > 0 else self.offered_rate
        possible = min(self.offered_rate, carried)
        if self.void is None and self.achieved_rate < REACH_SHARE * possible:
            self.void = (
                f"the generator sent {self.achieved_rate:.0f} of {self.offered_rate:g} requests per second; the client "
                f"carries {possible:.0f}"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        return {"version": 1, **asdict(self)}

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Measurement:
        fields = {name: value for name, value in raw.items() if name != "version"}
        fields["latency"] = Distribution.from_json(raw["latency"])
        fields["service"] = Distribution.from_json(raw["service"]) if raw.get("service") else None
        return Measurement(**fields)


def own_lateness_us(measurement: Measurement) -> float | None:
    """How late the generator was at its 90th percentile, from corrected latencies and those without the delay.

    A request that takes longer than the time between two of its connection makes the next ones late, and as many again
    while the connection catches up. None when that may explain one request in ten: then it is not the generator's.
    """
    service = measurement.service
    if service is None or not service.spectrum or not measurement.latency.spectrum:
        return None
    between_us = measurement.connections / measurement.offered_rate * 1e6
    delayed, before = 0.0, 0.0
    for value, _, count in service.spectrum:
        if value >= between_us:
            delayed += 2 * (count - before) * value / between_us
        before = count
    if delayed >= 0.1 * before:
        return None
    corrected, sent = measurement.latency.percentile_us(90), service.percentile_us(90)
    return None if corrected is None or sent is None else max(0.0, corrected - sent)
