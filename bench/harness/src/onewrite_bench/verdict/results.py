"""What a run saw: cells (one client at one target) and verdicts, in a form that goes to JSON and back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from onewrite_bench.generators.measurement import Distribution
from onewrite_bench.verdict import stats

__all__ = ["Cell", "RateResult", "Run", "Verdict"]


@dataclass
class Cell:
    """One client at one target. Latencies in microseconds; segments are data segments sent, without retransmits."""

    group: str
    language: str
    client: str
    role: str
    target: str
    stalls: bool
    required: bool = True
    body_bytes: int = 200
    beside: bool = False
    """A good control that takes turns with a language's clients: judged with, summed up under the table."""
    stall_us: int = stats.STALL_US
    base_us: int = 0
    """What the target itself takes, from the good control: subtracted before a p50 is compared."""
    p50_ratio: float = 0.25
    """How far the adapter's p50 may come up to the control's."""
    base: str = ""
    latencies_us: list[int] = field(default_factory=list)
    service_us: list[int] = field(default_factory=list)
    segments: list[list[int]] = field(default_factory=list)
    """Per round: [data segments sent, requests]."""
    connections: int = 0
    connections_nodelay: int = 0
    errors: int = 0
    error_sample: str | None = None
    skipped: str | None = None
    failed: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        return bool(self.latencies_us) and self.failed is None

    @property
    def p50_ms(self) -> float | None:
        return stats.percentile(self.latencies_us, 50) / 1000 if self.latencies_us else None

    @property
    def share_over(self) -> float | None:
        return stats.share_over(self.latencies_us, self.stall_us) if self.latencies_us else None

    @property
    def segments_per_request(self) -> float | None:
        """The mean over all rounds, for the table."""
        requests = sum(count for _, count in self.segments)
        return sum(sent for sent, _ in self.segments) / requests if requests else None

    @property
    def segments_mode(self) -> float | None:
        """The commonest of the rounds' means, for the verdict: one odd round does not decide."""
        return stats.mode([sent / count for sent, count in self.segments if count])


@dataclass
class RateResult:
    """One client under one constant rate, through its bridge."""

    group: str
    language: str
    client: str
    role: str
    target: str
    rate: int
    of_capacity: float
    base: str = ""
    measurement: dict[str, Any] | None = None
    floor: dict[str, Any] | None = None
    in_process: dict[str, Any] | None = None
    skipped: str | None = None
    failed: str | None = None

    @property
    def p50_us(self) -> float | None:
        return _percentile_us(self.measurement, 50)

    @property
    def p99_us(self) -> float | None:
        return _percentile_us(self.measurement, 99)

    @property
    def floor_p50_us(self) -> float | None:
        return _percentile_us(self.floor, 50)


def _percentile_us(measurement: dict[str, Any] | None, percent: float) -> float | None:
    if measurement is None:
        return None
    return Distribution.from_json(measurement["latency"]).percentile_us(percent)


@dataclass
class Verdict:
    """One line of judgement. `state` is clean, stalls, inconclusive or not run."""

    subject: str
    state: str
    text: str
    counts: bool = True
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """One scenario's outcome."""

    scenario: str
    title: str
    command: str
    started_at: str
    seconds: float = 0.0
    story: str = ""
    machine: dict[str, Any] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    rates: list[RateResult] = field(default_factory=list)
    sections: list[dict[str, Any]] = field(default_factory=list)
    """Tables of engines that measure something else than POSTs: {title, headings, rows, notes}."""
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    earlier: dict[str, list[str]] = field(default_factory=dict)
    """Per verdict's subject: what earlier measurements of its group came to."""
    interrupted: bool = False
    skipped: str | None = None
    exit_status: int = 2

    def to_json(self) -> dict[str, Any]:
        return {"version": 1, **asdict(self)}

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Run:
        fields = {name: value for name, value in raw.items() if name != "version"}
        fields["cells"] = [Cell(**cell) for cell in raw["cells"]]
        fields["rates"] = [RateResult(**row) for row in raw["rates"]]
        fields["verdicts"] = [Verdict(**verdict) for verdict in raw["verdicts"]]
        return Run(**fields)
