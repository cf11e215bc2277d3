"""The host's own account of lost and repeated segments: the excuse for an odd count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["LossCounters", "read_loss"]


@dataclass(frozen=True)
class LossCounters:
    """Counters of /proc/net/netstat and /proc/net/snmp, host-wide since boot (or the difference of two readings)."""

    loss_probes: int = 0
    retransmits: int = 0

    def __sub__(self, other: LossCounters) -> LossCounters:
        return LossCounters(self.loss_probes - other.loss_probes, self.retransmits - other.retransmits)

    @property
    def total(self) -> int:
        return self.loss_probes + self.retransmits


def read_loss() -> LossCounters:
    """Read them; zeros where there is no /proc."""
    return LossCounters(
        _counter("/proc/net/netstat", "TcpExt", "TCPLossProbes"), _counter("/proc/net/snmp", "Tcp", "RetransSegs")
    )


def _counter(file: str, group: str, name: str) -> int:
    try:
        lines = [line.split() for line in Path(file).read_text().splitlines() if line.startswith(f"{group}: ")]
        names, values = lines[0], lines[1]
        return int(values[names.index(name)])
    except (OSError, ValueError, IndexError):
        return 0
