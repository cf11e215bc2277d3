"""Takes samples of all arms in turn, on one kept-alive connection each."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from onewrite_cli.doctor.arms import Arm
from onewrite_cli.doctor.connection import Connection
from onewrite_cli.doctor.request import DoctorRequest
from onewrite_cli.doctor.response import BadResponse
from onewrite_cli.doctor.route import Route
from onewrite_cli.doctor.sample import Sample, take
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["Line", "Samples", "measure", "requests_per_line"]

#: A young connection is acknowledged at once; Linux counts up to 16 segments, two of which make a split request.
WARM_UP = 9
BLOCK = 3  # small, so that a moment in which the machine is busy meets every line
FAILURES = 5  # in all: then the path is not one that can be measured


@dataclass
class Samples:
    """Those that count, and what happened beside them."""

    taken: list[Sample] = field(default_factory=list)
    sent: int = 0
    failures: list[str] = field(default_factory=list)
    protocol: str | None = None
    kept_alive: bool | None = None

    def of(self, arm: Arm) -> list[Sample]:
        return [sample for sample in self.taken if sample.arm == arm.key]


@dataclass
class Line:
    """One arm on its way: where it goes, and its open connection."""

    arm: Arm
    route: Route
    request: DoctorRequest
    context: ssl.SSLContext | None
    samples: Samples
    connection: Connection | None = None
    used: int = 0


def requests_per_line(rounds: int) -> int:
    """How many requests a line makes for so many samples."""
    return WARM_UP + rounds + -(-rounds // BLOCK)


def measure(lines: list[Line], rounds: int, timeout_s: float, said: Callable[[int], None]) -> None:
    """`rounds` samples per line, one request at a time, the lines in turn by blocks. Raises CouldNotRun.

    The first of a block counts nothing: a connection that was idle while others had their turn delays no ACK (Linux
    does so when requests and answers follow each other closely, as a busy client's do).
    """
    try:
        for line in lines:
            for _ in range(WARM_UP):
                _one(line, timeout_s, counts=False)
        for begin in range(0, rounds, BLOCK):
            said(begin)
            for line in lines:
                _one(line, timeout_s, counts=False)
                for _ in range(min(BLOCK, rounds - begin)):
                    _one(line, timeout_s, counts=True)
    finally:
        for line in lines:
            if line.connection is not None:
                line.connection.close()


def _one(line: Line, timeout_s: float, *, counts: bool) -> None:
    samples = line.samples
    while True:
        if line.connection is None:
            line.connection = Connection(line.route, line.arm, line.context, timeout_s)
            samples.protocol = line.connection.protocol or samples.protocol
            line.used = 0
        try:
            samples.sent += 1
            sample = take(line.connection, line.request, timeout_s, reused=line.used > 0)
        except (OSError, BadResponse, ValueError) as error:
            line.connection.close()
            line.connection = None
            # A server may close an idle connection at any time: that alone is no failure.
            samples.failures.append(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
            if len(samples.failures) > FAILURES:
                raise CouldNotRun(f"{len(samples.failures)} requests failed, the last with {samples.failures[-1]}") from error
            continue
        break
    line.used += 1
    if line.used > 1:
        samples.kept_alive = True
    if not sample.keep_alive:
        line.connection.close()
        line.connection = None
        samples.kept_alive = samples.kept_alive or False
    if counts:
        samples.taken.append(sample)
