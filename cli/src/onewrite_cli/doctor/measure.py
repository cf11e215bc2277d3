"""Takes samples of all arms in turn, on one kept-alive connection each, and watches the kernel's send queue."""

from __future__ import annotations

import http.client
import select
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.response import BadResponse, NotHttp
from onewrite_cli.doctor.connection import Arm, Connection
from onewrite_cli.doctor.request import DoctorRequest, Route

__all__ = ["FAR_APART_S", "Line", "Sample", "Samples", "Stopped", "in_words", "measure", "refusal", "requests_per_line"]

#: A young connection is acknowledged at once; Linux counts up to 16 segments, two of which make a split request.
WARM_UP = 9
BLOCK = 3  # small, so that a moment in which the machine is busy meets every line
FREE_S = 3.0  # the least that a new connection may wait for a thread of the server
GIVE_UP = 3  # failures of an arm, and at least as many as were answered: the server does not take its requests
#: The server does not want these requests, so no more are sent; and what helps.
STOP_AT = {
    401: "give credentials: user:password@ in the URL, or --header 'Authorization: …'",
    403: "name a path that you may use",
    404: "name a path that is there",
    405: "use a method that it takes: --get, --post FILE or --post-bytes N",
    429: "the server limits the rate of requests; try later, with fewer --samples",
    503: "the server, or a proxy before it, is not available now",
}
STOP_SPLIT_AT = (429,)  # any other status may be the server's answer to the split
#: Once a request had no answer in time, the next ones wait less: so many times as long as the slowest answer took.
PATIENCE, LEAST_S = 20, 2.0
#: Between two writes: a relay that is slow to wake would join them, and hide what it does to two pieces.
APART_S = 0.002
FAR_APART_S = 0.02  # for a server that must not read both pieces at once, on a busy machine
LOOK_S = 0.0005  # between two readings of the queue, while it holds something


class Stopped(Exception):
    """No more is sent. The message has the reason."""


def refusal(status: int) -> Stopped:
    """For a status after which no more is sent."""
    word = http.client.responses.get(status, "refused")
    help_ = STOP_AT.get(status, "name a path, with a body, that it accepts")
    return Stopped(f"the server answered {status} ({word}), so no more was sent: {help_}")


@dataclass
class Sample:
    """Nanoseconds. `total` is without the pause between the writes, which a busy machine makes longer.

    `held` begins when the last write had returned and ends when no byte was unsent.

    `late` is how much later than meant the second write, or the first reading of the queue, was: a busy machine runs
    something else in between, and an acknowledgement that came meanwhile leaves nothing to be held.
    """

    arm: str
    status: int
    total: int
    wait: int  # last write to first byte of the answer
    tail: int  # first to last byte of the answer
    held: int | None
    held_bytes: int | None
    retransmits: int
    rwnd_limited: int
    min_rtt_us: int | None
    keep_alive: bool
    body: tuple[int, int] = (0, 0)  # the answer's size and checksum
    late: int = 0
    early: bool = False  # the answer began before the second write

    def cause(self, line_ns: float) -> str | None:
        """The name of a wait longer than `line_ns`, in the order of the contract (TIME-26)."""
        if self.held is None or max(self.wait, self.held, self.tail) < line_ns:
            return None
        if self.held < line_ns:
            return "server"
        if self.rwnd_limited * 2 > self.held:
            return "peer_window"
        if self.retransmits:
            return "retransmit"
        return "nagle_delayed_ack" if self.arm == "split_nagle" else None


def take(connection: Connection, request: DoctorRequest, timeout_s: float, apart_s: float) -> Sample:
    """One request and its answer. Raises OSError."""
    connection.begin(timeout_s)
    before = tcpinfo.read(connection.socket)
    started = time.monotonic_ns()
    late, early, paused = 0, False, 0
    if connection.arm.split:
        connection.write(request.first)
        between = time.monotonic_ns()
        time.sleep(apart_s)
        paused = time.monotonic_ns() - between
        late = paused - int(apart_s * 1e9)
        early = bool(select.select([connection.socket], [], [], 0)[0])
        connection.write(request.second)
    else:
        connection.write(request.first + request.second)
    written = time.monotonic_ns()
    held_bytes = _not_sent(connection)
    late += time.monotonic_ns() - written
    held = _watch(connection, written) if held_bytes else held_bytes
    response = connection.read(request.method)
    after = tcpinfo.read(connection.socket)
    both = (before, after) if before is not None and after is not None else None
    return Sample(
        arm=connection.arm.key,
        status=response.status,
        total=response.times_ns[-1] - started - paused,
        wait=max(0, response.times_ns[0] - written),
        tail=response.tail_ns,
        held=held,
        held_bytes=held_bytes,
        retransmits=both[1].total_retrans - both[0].total_retrans if both else 0,
        rwnd_limited=(both[1].rwnd_limited_us - both[0].rwnd_limited_us) * 1000 if both else 0,
        min_rtt_us=after.min_rtt_us if after else None,
        keep_alive=response.keep_alive,
        body=response.body,
        late=late,
        early=early,
    )


def _not_sent(connection: Connection) -> int | None:
    info = tcpinfo.read(connection.socket)
    return None if info is None else info.not_sent


def _watch(connection: Connection, written_ns: int) -> int:
    """The time that bytes stay in the send queue, or until the answer begins: it may be to half a request."""
    while time.monotonic() < connection.deadline and _not_sent(connection):
        if select.select([connection.socket], [], [], LOOK_S)[0]:
            break
    return time.monotonic_ns() - written_ns


@dataclass
class Samples:
    """Those that count, and what happened beside them."""

    taken: list[Sample] = field(default_factory=list)
    sent: int = 0
    answered: Counter[str] = field(default_factory=Counter)  # by arm, counted or not
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by arm
    slowest_s: float = 0.0
    unanswered: bool = False  # one ran into its time limit
    few_at_a_time: bool = False  # the server answers fewer connections at a time than there are arms
    kept_alive: bool | None = None

    def of(self, *arms: Arm) -> list[Sample]:
        keys = [arm.key for arm in arms]
        return [sample for sample in self.taken if sample.arm in keys]

    def failed(self, *arms: Arm) -> list[str]:
        return [what for arm in arms for what in self.failures[arm.key]]


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
    apart_s: float = APART_S

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def once(self, timeout_s: float) -> Sample:
        """One request. Raises CouldNotRun where no server listens, OSError where it is not answered."""
        samples = self.samples
        if self.connection is None:
            self.connection = Connection(self.route, self.arm, self.context, timeout_s)
            self.used = 0
        if samples.unanswered:
            timeout_s = min(timeout_s, max(LEAST_S, PATIENCE * samples.slowest_s))
        samples.sent += 1
        self.used += 1
        try:
            sample = take(self.connection, self.request, timeout_s, self.apart_s)
        except OSError as error:
            self.close()
            samples.unanswered = samples.unanswered or isinstance(error, TimeoutError)
            if isinstance(error, NotHttp):
                raise CouldNotRun(str(error)) from error
            raise
        samples.answered[self.arm.key] += 1
        samples.statuses[sample.status] += 1
        samples.slowest_s = max(samples.slowest_s, sample.total / 1e9)
        if self.used > 1:
            samples.kept_alive = True
        if not sample.keep_alive:
            self.close()
            samples.kept_alive = samples.kept_alive or False
        return sample

    def several(self, warm_up: int, counted: int, timeout_s: float) -> None:
        """So many requests, of which the first count nothing; fewer where the server does not take this arm's."""
        samples, failures, answered = self.samples, self.samples.failures[self.arm.key], 0
        while answered < warm_up + counted and len(failures) < max(GIVE_UP, samples.answered[self.arm.key]):
            fresh = self.connection is None
            try:
                sample = self.once(timeout_s)
            except OSError as error:
                # A server may close an idle connection at any time: that alone is no failure.
                if fresh or isinstance(error, TimeoutError):
                    failures.append(in_words(error))
                continue
            answered += 1
            if answered > warm_up:
                samples.taken.append(sample)
            if sample.status in (STOP_SPLIT_AT if self.arm.split else STOP_AT):
                raise refusal(sample.status)


def requests_per_line(rounds: int) -> int:
    """The number of requests that a line makes for so many samples."""
    return WARM_UP + rounds + -(-rounds // BLOCK)


def measure(lines: list[Line], rounds: int, timeout_s: float, said: Callable[[int], None]) -> None:
    """`rounds` samples per line, one request at a time, the lines in turn by blocks. Raises CouldNotRun, Stopped.

    The first of a block counts nothing: a connection that was idle while others had their turn delays no ACK (Linux
    does so when requests and answers follow each other closely, as a busy client's do).
    """
    try:
        few = any(_needs_others_closed(line, lines, timeout_s) for line in lines)
        warm_up, block = (WARM_UP, rounds) if few else (1, BLOCK)
        for line in lines if not few else ():
            line.several(WARM_UP - 1, 0, timeout_s)
        for begin in range(0, rounds, block):
            said(begin)
            for line in lines:
                if few:
                    _close(other for other in lines if other is not line)
                line.several(warm_up, min(block, rounds - begin), timeout_s)
    finally:
        _close(lines)


def _close(lines: Iterable[Line]) -> None:
    for line in lines:
        line.close()


def _needs_others_closed(line: Line, lines: list[Line], timeout_s: float) -> bool:
    """The first request of a line. True if it is answered only when no other connection is open: a thread serves each."""
    samples = line.samples
    try:
        line.once(min(timeout_s, max(FREE_S, PATIENCE * samples.slowest_s)))
        return False
    except (OSError, CouldNotRun) as error:
        late = isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)
        if not late or all(other.connection is None for other in lines):
            if isinstance(error, CouldNotRun):
                raise
            return False
        what = in_words(error)
    _close(lines)
    try:
        line.once(timeout_s)
        samples.few_at_a_time = True
    except OSError:
        samples.failures[line.arm.key].append(what)
    return samples.few_at_a_time


def in_words(error: Exception) -> str:
    """What became of a request, for a report."""
    if isinstance(error, (TimeoutError, BadResponse)) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
