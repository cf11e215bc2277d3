"""Which generator runs: the one that was named, or wrk2 where it is there, else the bench's own.

Each counts a request's latency from the moment it was due, so a stalled client cannot hide by asking less.
"""

from __future__ import annotations

from onewrite_bench.failures import BenchError
from onewrite_bench.generators.built_in import BuiltIn
from onewrite_bench.generators.plan import Generator
from onewrite_bench.generators.wrk2 import Wrk2

__all__ = ["choose"]


def choose(wanted: str | None) -> Generator:
    """Raises BenchError when the named one is unknown or not there."""
    if wanted not in (None, "", "wrk2", "built-in"):
        raise BenchError(f"there is no generator {wanted!r}; there are wrk2 and built-in")
    wrk2 = None if wanted == "built-in" else Wrk2.find()
    if wanted == "wrk2" and wrk2 is None:
        raise BenchError("wrk2 is not on PATH; set WRK2=/path/to/it or use GENERATOR=built-in")
    return wrk2 or BuiltIn()
