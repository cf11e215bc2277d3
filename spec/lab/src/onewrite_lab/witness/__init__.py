"""The witness: reads another process's sockets from the kernel, without that process's help."""

from __future__ import annotations

from onewrite_lab.witness.diag import Diag, End, Found
from onewrite_lab.witness.netstat import LossCounters, read_loss
from onewrite_lab.witness.sockets import (
    AVAILABLE,
    Owners,
    SocketReading,
    WitnessError,
    connections,
    process_tree,
)

__all__ = [
    "AVAILABLE",
    "Diag",
    "End",
    "Found",
    "LossCounters",
    "Owners",
    "SocketReading",
    "WitnessError",
    "connections",
    "process_tree",
    "read_loss",
]
