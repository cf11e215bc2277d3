"""The error of the bench: one line that says how to mend it."""

from __future__ import annotations

from onewrite_lab.servers import LabError as BenchError

__all__ = ["BenchError"]
