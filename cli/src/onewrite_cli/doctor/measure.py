"""Takes samples of all arms in turn, on one kept-alive connection each."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from onewrite_cli.doctor.arms import Arm
from onewrite_cli.doctor.connection import Connection
from onewrite_cli.doctor.request import DoctorRequest
from onewrite_cli.doctor.response import BadResponse, NotHttp
from onewrite_cli.doctor.route import Route
from onewrite_cli.doctor.sample import Sample, take
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["Line", "Samples", "Stopped", "measure", "probe", "requests_per_line"]

#: A young connection is acknowledged at once; Linux counts up to 16 segments, two of which make a split request.
WARM_UP = 9
BLOCK = 3  # small, so that a moment in which the machine is busy meets every line
FAILURES = 5  # of an arm: then the path is not one that can be measured
GIVE_UP = 3  # of a split arm, and at least as many as were answered: the server does not take requests in pieces
#: The server does not want these requests: no more are sent.
STOP_AT = (401, 403, 404, 405, 429, 503)
STOP_SPLIT_AT = (429,)  # any other status may be the server's answer to the split


class Stopped(Exception):
    """The server answered with one of STOP_AT."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class GivenUp(Exception):
    """A split arm whose requests fail: one that is answered now and then came whole by chance."""


@dataclass
class Samples:
    """Those that count, and what happened beside them."""

    taken: list[Sample] = field(default_factory=list)
    sent: int = 0
    failures: list[str] = field(default_factory=list)
    refused_arms: dict[str, str] = field(default_factory=dict)  # given up: the last failure, by arm
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
    used: int = 0  # requests on this connection
    answered: int = 0
    failed: int = 0


def requests_per_line(rounds: int) -> int:
    """How many requests a line makes for so many samples."""
    return WARM_UP + rounds + -(-rounds // BLOCK)


def measure(lines: list[Line], rounds: int, timeout_s: float, said: Callable[[int], None]) -> None:
    """`rounds` samples per line, one request at a time, the lines in turn by blocks. Raises CouldNotRun, Stopped.

    The first of a block counts nothing: a connection that was idle while others had their turn delays no ACK (Linux
    does so when requests and answers follow each other closely, as a busy client's do).
    """
    try:
        for line in lines:
            with contextlib.suppress(GivenUp):
                for _ in range(WARM_UP):
                    _one(line, timeout_s, counts=False)
        for begin in range(0, rounds, BLOCK):
            said(begin)
            for line in lines:
                if line.arm.key in line.samples.refused_arms:
                    continue
                with contextlib.suppress(GivenUp):
                    _one(line, timeout_s, counts=False)
                    for _ in range(min(BLOCK, rounds - begin)):
                        _one(line, timeout_s, counts=True)
    finally:
        for line in lines:
            if line.connection is not None:
                line.connection.close()


def probe(line: Line, timeout_s: float) -> Sample:
    """One request, whole: what the server says of it. Raises CouldNotRun."""
    return _one(line, timeout_s, counts=False)


def _one(line: Line, timeout_s: float, *, counts: bool) -> Sample:
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
            _note_failure(line, error)
            continue
        break
    line.used += 1
    line.answered += 1
    if line.used > 1:
        samples.kept_alive = True
    if not sample.keep_alive:
        line.connection.close()
        line.connection = None
        samples.kept_alive = samples.kept_alive or False
    if counts:
        samples.taken.append(sample)
    if sample.status in (STOP_AT if not line.arm.split else STOP_SPLIT_AT):
        raise Stopped(sample.status)
    return sample


def _note_failure(line: Line, error: Exception) -> None:
    """Raises CouldNotRun when the path cannot be measured, and GivenUp when this arm cannot."""
    samples = line.samples
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, NotHttp):
        raise CouldNotRun(str(error)) from error
    if isinstance(error, TimeoutError) and not samples.taken and not line.arm.split:
        raise CouldNotRun(f"{error} (--timeout); for a stream of events say --stream") from error
    # A server may close an idle connection at any time: that alone is no failure.
    samples.failures.append(text)
    line.failed += 1
    if line.arm.split and line.failed >= max(GIVE_UP, line.answered):
        samples.refused_arms[line.arm.key] = text
        raise GivenUp
    if line.failed > FAILURES:
        raise CouldNotRun(f"{line.failed} requests failed, the last with {text}") from error
