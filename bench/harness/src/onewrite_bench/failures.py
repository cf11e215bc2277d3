"""What can go wrong around a measurement, each with one line that says what to do."""

from __future__ import annotations

__all__ = ["BenchError"]


class BenchError(Exception):
    """The bench cannot go on; the message is one line for the user. Never the fault of an adapter."""
