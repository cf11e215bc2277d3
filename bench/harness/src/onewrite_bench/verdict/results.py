"""The results of a run: cells (a client at a target), rates and verdicts, to and from JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from statistics import median_low
from typing import Any

from onewrite_lab import stall

__all__ = ["Cell", "RateResult", "Run", "Verdict"]

VERSION = 5


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
    most_segments: int | None = 1
    """The most segments that a request may take; None where segments are not judged."""
    fresh: bool = False
    """Each round has new connections, so nothing was counted on a kept one."""
    base: str = ""
    rounds_us: list[list[int]] = field(default_factory=list)
    """The latency of each request, by round."""
    segments: list[list[int]] = field(default_factory=list)
    connections: int = 0
    bare_connections: int = 0
    """Connections without TCP_NODELAY."""
    errors: int = 0
    error_sample: str | None = None
    missing: str | None = None
    """The reason why this client did not run."""

    @property
    def latencies_us(self) -> list[int]:
        return [sample for samples in self.rounds_us for sample in samples]

    @property
    def measured(self) -> bool:
        return any(self.rounds_us) and self.missing is None

    @property
    def p50_us(self) -> float:
        samples = self.latencies_us
        return median_low(samples) if samples else 0.0

    @property
    def usual_us(self) -> float:
        """The median; on new connections that of their first requests, which have the handshake in them."""
        firsts = [samples[0] for samples in self.rounds_us if samples]
        return median_low(firsts) if self.fresh and firsts else self.p50_us

    def late(self, line_us: float) -> int:
        """The number of requests that took longer than this."""
        return sum(sample > line_us for sample in self.latencies_us)

    def share_late(self, line_us: float) -> float:
        """The share of requests that took longer than this."""
        return self.late(line_us) / max(1, len(self.latencies_us))

    def word(self, line_us: float) -> str:
        """`clean`, `mixed` or `stalls`, by the lab's rule."""
        return stall.word(self.late(line_us), len(self.latencies_us))

    @property
    def segments_median(self) -> float | None:
        """The median of the rounds' means: one odd round does not decide."""
        means = [sent / count for sent, count in self.segments if count]
        return median_low(means) if means else None


@dataclass
class RateResult:
    """One client's bridge under a constant rate, in turns with the others. Times count from when a request was due."""

    group: str
    client: str
    rate: int
    generator: str
    base: str = ""
    turns: list[dict[str, Any]] = field(default_factory=list)
    """Per turn: requests, reached (per second), p50_us, p90_us, p99_us, p999_us, max_us, late_sends (wrk2: None)."""
    missing: str | None = None
    """The reason why the row was not measured, or why its figures mean nothing."""

    @property
    def saturated(self) -> bool:
        """The client did not reach the rate by 2 %: the queue grows, and latencies are those of its length."""
        return any(turn["reached"] < 0.98 * self.rate for turn in self.turns)


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
    base: str = ""
    """The library and runtime of the records."""
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    earlier: dict[str, list[str]] = field(default_factory=dict)
    """By group: the states of earlier measurements."""
    skipped: str | None = None
    exit_status: int = 2

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}

    def text(self) -> str:
        """The JSON as it is kept: a line per cell and per rate, so that runs can be compared line by line."""
        lines = []
        for name, value in self.to_json().items():
            rows = value if isinstance(value, list) else None
            if rows:
                written = "[\n" + ",\n".join(_short(row) for row in rows) + "\n]"
            else:
                written = _short(value)
            lines.append(f"{_short(name)}: {written}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Run:
        """Raises ValueError for a result of another version."""
        if raw.get("version") != VERSION:
            raise ValueError(f"version {raw.get('version')}")
        fields = {name: value for name, value in raw.items() if name != "version"}
        fields["cells"] = [Cell(**cell) for cell in raw["cells"]]
        fields["rates"] = [RateResult(**row) for row in raw.get("rates", [])]
        fields["verdicts"] = [Verdict(**verdict) for verdict in raw["verdicts"]]
        return Run(**fields)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if isinstance(value, dict) else None)
