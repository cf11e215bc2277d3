"""What can go wrong around a measurement, each with one line that says what to do."""

from __future__ import annotations

from onewrite_lab.servers import LabError as BenchError

__all__ = ["BenchError"]
