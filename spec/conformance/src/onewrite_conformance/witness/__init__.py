"""The witnesses: what the kernel and strace say of another process, with no help from it. They know no case."""

from __future__ import annotations

from onewrite_conformance.witness.sockets import (
    AVAILABLE,
    SocketReading,
    WitnessError,
    connections,
    process_tree,
)

__all__ = ["AVAILABLE", "SocketReading", "WitnessError", "connections", "process_tree"]
