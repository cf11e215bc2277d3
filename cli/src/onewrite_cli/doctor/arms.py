"""The four ways in which the same request is sent."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ARMS", "ONE", "QUICK", "SPLIT", "SPLIT_NODELAY", "Arm"]


@dataclass(frozen=True)
class Arm:
    key: str
    name: str
    split: bool
    nodelay: bool
    quickack: bool = False  # TCP_QUICKACK after each write: the kernel forgets it


SPLIT = Arm("split_nagle", "two writes, Nagle on", split=True, nodelay=False)
SPLIT_NODELAY = Arm("split_nodelay", "two writes, TCP_NODELAY", split=True, nodelay=True)
ONE = Arm("one_write", "one write", split=False, nodelay=True)
QUICK = Arm("one_write_quickack", "one write, quick ACKs", split=False, nodelay=True, quickack=True)
ARMS = (SPLIT, SPLIT_NODELAY, ONE, QUICK)
