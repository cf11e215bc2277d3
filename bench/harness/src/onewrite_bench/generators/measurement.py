"""What a generator is asked to do, and what it saw, in one form for all generators."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from onewrite_bench.ends import tied
from onewrite_bench.failures import BenchError

__all__ = ["GRACE_S", "Generator", "Measurement", "Plan", "call", "find"]

GRACE_S = 60
LATE_US = 5_000
"""A generator that is later than this at its 90th percentile measured itself."""

RATE_TOLERANCE = 0.02


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


class Generator(Protocol):
    @property
    def name(self) -> str:
        """As in the report and in GENERATOR=."""

    def run(self, plan: Plan) -> Measurement:
        """Generate the load. Raises BenchError when there is no result; a doubtful one is `void`."""


@dataclass
class Measurement:
    """One run of a generator. `void` says why its numbers mean nothing.

    It sent for `warmup_seconds` + `seconds`; latencies are those of the last `seconds`. `slip_p90_us` is the
    generator's own lateness, None where the generator does not report it.
    """

    generator: str
    generator_version: str
    offered_rate: float
    achieved_rate: float
    connections: int
    seconds: float
    requests: int
    errors: int
    error_sample: str | None
    slip_p90_us: float | None
    p50_us: float
    p90_us: float
    p99_us: float
    warmup_seconds: float = 0.0
    void: str | None = None

    def judge(self, may_collapse: bool) -> Measurement:
        """Fill in `void`. A client that is meant to be overloaded (`may_collapse`) may fall behind the offered rate."""
        behind = abs(self.achieved_rate - self.offered_rate) > RATE_TOLERANCE * self.offered_rate
        if self.requests <= 0:
            self.void = "no request was completed"
        elif self.errors:
            self.void = f"{self.errors} requests failed ({self.error_sample or 'no reason given'})"
        elif self.slip_p90_us is not None and self.slip_p90_us > LATE_US:
            self.void = f"the generator itself ran {self.slip_p90_us / 1000:.1f} ms late at its 90th percentile"
        elif behind and not may_collapse:
            self.void = f"{self.achieved_rate:g} of {self.offered_rate:g} requests per second were reached"
        return self

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
