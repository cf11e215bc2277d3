"""What a generator is asked to do, and what every generator is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from onewrite_bench.ends import tied
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Measurement

__all__ = ["GRACE_S", "Generator", "Plan", "call", "find"]

GRACE_S = 60


@dataclass(frozen=True)
class Plan:
    """What to send: `rate` requests per second over `connections`, for `warmup` + `seconds` seconds.

    Latencies of requests that are due in the first `warmup` seconds do not count. The rate is a whole number because
    wrk2 reads no other: its argument parser takes the `.3` of `133.3` for a unit.
    """

    url: str
    rate: int
    connections: int
    seconds: int
    method: str = "POST"
    body_bytes: int = 200
    warmup: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.rate, int):
            raise TypeError(f"a rate is a whole number of requests per second, not {self.rate!r}")


class Generator(Protocol):
    @property
    def name(self) -> str:
        """As in the report and in GENERATOR=."""

    def run(self, plan: Plan) -> Measurement:
        """Generate the load. Raises BenchError when no result could be had; a doubtful one is `void`."""


def find(candidates: Iterable[str | None], is_it: Callable[[str], bool]) -> str | None:
    """The first of these programs that is there and shows a usage text that `is_it` accepts."""
    for program in (shutil.which(candidate) for candidate in candidates if candidate):
        if program is None:
            continue
        try:
            shown = call([program, "--help"], 10)
        except BenchError:
            continue
        if is_it(shown.stdout + shown.stderr):
            return program
    return None


def call(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a generator's program to its end. Raises BenchError when it cannot be run or does not end."""
    try:
        return subprocess.run([*tied(), *command], capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{Path(command[0]).name} did not end within {timeout_s:g} s") from error
    except OSError as error:
        raise BenchError(f"{command[0]} could not be run: {error.strerror}") from error
