"""The observation of one run: the driver's requests, and the account of tap and witnesses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.witness.netstat import LossCounters

from onewrite_conformance.contract.cases import Run

__all__ = ["Observation", "Sample"]


@dataclass
class Sample:
    """One request of the driver, its reply, and the exchanges that arrived meanwhile."""

    request: dict[str, Any]
    reply: dict[str, Any]
    exchanges: list[Exchange]
    counted: bool
    step: int
    batch: bool = False

    @property
    def exchange(self) -> Exchange | None:
        return self.exchanges[-1] if self.exchanges else None


@dataclass
class Observation:
    """The observation of one run."""

    run: Run
    samples: list[Sample] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    loss: LossCounters = field(default_factory=LossCounters)
    tap_faults: list[str] = field(default_factory=list)
    witness_fault: str | None = None
    capabilities: frozenset[str] = frozenset()
    names: dict[str, str] = field(default_factory=dict)
    hooked: bool = False  # whether a hook was set
    left_open: int | None = None  # connections that the client had not ended some time after it was closed
    ended_before_close: frozenset[int] = frozenset()  # connections that had ended before the client was closed
    ended_unix_ns: int = 0  # by the wall clock, when all of it was over
    warnings: dict[str, int] = field(default_factory=dict)  # lines on the driver's stderr that hold these names

    @property
    def counted(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.counted]

    def counted_exchanges(self, step: int | None = None) -> list[Exchange]:
        """The exchanges of counted samples; a batch's are counted once."""
        seen: dict[int, Exchange] = {}
        for sample in self.counted:
            if step is None or sample.step == step:
                seen |= {exchange.number: exchange for exchange in sample.exchanges}
        return list(seen.values())
