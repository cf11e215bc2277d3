"""Which generator runs: the one that was named, or the first found that works.

Each counts a request's latency from the moment it was due, so a stalled client cannot hide by asking less.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from onewrite_bench.failures import BenchError
from onewrite_bench.generators.built_in import BuiltIn
from onewrite_bench.generators.measurement import Measurement
from onewrite_bench.generators.plan import Generator, Plan
from onewrite_bench.generators.wrk2 import Wrk2

__all__ = ["FirstThatWorks", "choose"]

NAMES = ("wrk2", "built-in")


class FirstThatWorks:
    """Several generators in order of preference. One that fails is given up for the rest of the run, in one line."""

    def __init__(self, found: Sequence[Generator], say: Callable[[str], None]) -> None:
        self._left = list(found)
        self._say = say
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._left[0].name

    def run(self, plan: Plan) -> Measurement:
        while True:
            generator = self._left[0]
            try:
                return generator.run(plan)
            except BenchError as error:
                with self._lock:
                    if self._left[0] is generator:
                        if len(self._left) == 1:
                            raise
                        del self._left[0]
                        self._say(f"{error}; going on with {self._left[0].name}")


def choose(wanted: str | None, say: Callable[[str], None]) -> Generator:
    """The generator named in `wanted`; else wrk2 where it is there, with the built-in one for its failures.

    Raises BenchError when the named one is unknown or not there.
    """
    if wanted and wanted not in NAMES:
        raise BenchError(f"there is no generator {wanted!r}; there are wrk2 and built-in")
    if wanted == "built-in":
        return BuiltIn()
    wrk2 = Wrk2.find()
    if wanted and wrk2 is None:
        raise BenchError("wrk2 is not on PATH; set WRK2=/path/to/it or use GENERATOR=built-in")
    if wrk2 is None:
        return BuiltIn()
    return wrk2 if wanted else FirstThatWorks([wrk2, BuiltIn()], say)
