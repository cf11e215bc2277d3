"""The results of a run: cells (a client at a target), rates and verdicts, to and from JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median_low
from typing import Any

__all__ = ["Cell", "RateResult", "Run", "Verdict"]


@dataclass
class Cell:
    """One client at one target. Latencies are in microseconds.

    `segments` has a pair per round: data segments sent (without retransmits), and requests.
    """

    group: str
    language: str
    client: str
    role: str
    target: str
    stalls: bool
    kind: str = ""
    required: bool = True
    body_bytes: int = 200
    most_segments: int | None = 1
    """The most segments that a request may take; None where segments are not judged."""
    fresh: bool = False
    """Each latency is one new connection, so nothing was counted on a kept one."""
    unknown: bool = False
    base: str = ""
    latencies_us: list[int] = field(default_factory=list)
    segments: list[list[int]] = field(default_factory=list)
    connections: int = 0
    bare_connections: int = 0
    """Connections without TCP_NODELAY."""
    errors: int = 0
    error_sample: str | None = None
    missing: str | None = None
    """The reason why this client did not run."""

    @property
    def measured(self) -> bool:
        return bool(self.latencies_us) and self.missing is None

    @property
    def p50_us(self) -> float:
        return median_low(self.latencies_us) if self.latencies_us else 0.0

    def late(self, line_us: float) -> int:
        """The number of requests that took longer than this."""
        return sum(sample > line_us for sample in self.latencies_us)

    def share_late(self, line_us: float) -> float:
        """The share of requests that took longer than this."""
        return self.late(line_us) / max(1, len(self.latencies_us))

    @property
    def segments_median(self) -> float | None:
        """The median of the rounds' means: one odd round does not decide."""
        means = [sent / count for sent, count in self.segments if count]
        return median_low(means) if means else None


@dataclass
class RateResult:
    """One client's bridge under a constant rate. Times are in microseconds, and count from when a request was due."""

    group: str
    client: str
    rate: int
    generator: str = ""
    reached: float = 0.0
    requests: int = 0
    p50_us: float = 0.0
    p99_us: float = 0.0
    late_us: float | None = None
    """How late the generator was at its 90th percentile; None where it does not report that."""
    floor_us: float | None = None
    """The bridge's median without a request upstream."""
    missing: str | None = None
    """The reason why the row was not measured, or why its figures mean nothing."""


@dataclass
class Verdict:
    """The judgement of one group's adapter. `state` is clean, faulty, inconclusive or not run."""

    group: str
    state: str
    text: str
    counts: bool = True
    faults: list[str] = field(default_factory=list)
    certain: bool = False
    """Counted by the kernel: a busy machine changes nothing about it."""


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
    records: list[list[str]] = field(default_factory=list)
    """Rows of the kind `records`: where, client, wait, held by the kernel, receive, causes."""
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    earlier: dict[str, list[str]] = field(default_factory=dict)
    """By group: the states of earlier measurements."""
    interrupted: bool = False
    skipped: str | None = None
    exit_status: int = 2

    def to_json(self) -> dict[str, Any]:
        return {"version": 3, **asdict(self)}

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Run:
        """Raises ValueError for a result of another version."""
        if raw.get("version") != 3:
            raise ValueError(f"version {raw.get('version')}")
        fields = {name: value for name, value in raw.items() if name != "version"}
        fields["cells"] = [Cell(**cell) for cell in raw["cells"]]
        fields["rates"] = [RateResult(**row) for row in raw.get("rates", [])]
        fields["verdicts"] = [Verdict(**verdict) for verdict in raw["verdicts"]]
        return Run(**fields)
