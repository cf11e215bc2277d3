"""The four ways to send the same request, and their samples: taken in turn, on one kept-alive connection each."""

from __future__ import annotations

import http.client
import ssl
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.probe import BadAnswer, Exchange, NotHttp, Probe, authority

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.proxies import credentials
from onewrite_cli.doctor.request import DoctorRequest, Route

__all__ = ["ARMS", "ONE", "QUICK", "SPLIT", "SPLIT_NODELAY", "Arm", "Line", "Samples", "Stopped", "in_words", "measure"]
__all__ += ["FAR_APART_S", "STOP_AT", "connected", "refusal", "requests_per_line", "tls_context"]

#: A young connection is acknowledged at once; Linux counts up to 16 segments, two of which make a split request.
WARM_UP = 9
BLOCK = 3  # small, so that a moment in which the machine is busy meets every line
GIVE_UP = 3  # failures of an arm, and at least as many as were answered: the server does not take its requests
#: The server does not want these requests, so no more are sent; and what helps.
STOP_AT = {
    401: "give credentials: user:password@ in the URL, or --header 'Authorization: …'",
    403: "name a path that you may use",
    404: "name a path that is there",
    405: "use a method that it takes: --get, --post FILE or --post-bytes N",
    407: "the proxy asks for credentials: user:password@ in its URL",
    429: "the server limits the rate of requests; try later, with fewer --samples",
    503: "the server, or a proxy before it, is not available now",
}
STOP_SPLIT_AT = (429,)  # any other status may be the server's answer to the split
#: Once a request had no answer in time, the next ones wait less: so many times as long as the slowest answer took.
PATIENCE, LEAST_S = 20, 2.0
#: Between two writes: a relay that is slow to wake would join them, and hide what it does to two pieces.
APART_S = 0.002
FAR_APART_S = 0.02  # for a server that must not read both pieces at once, on a busy machine


@dataclass(frozen=True)
class Arm:
    key: str
    name: str
    split: bool
    nodelay: bool
    quick: bool | None = None  # every segment of the answer is acknowledged at once


SPLIT = Arm("split_nagle", "two writes, Nagle on", split=True, nodelay=False)
SPLIT_NODELAY = Arm("split_nodelay", "two writes, TCP_NODELAY", split=True, nodelay=True)
ONE = Arm("one_write", "one write", split=False, nodelay=True)
QUICK = Arm("one_write_quickack", "one write, quick ACKs", split=False, nodelay=True, quick=True)
ARMS = (SPLIT, SPLIT_NODELAY, ONE, QUICK)


class Stopped(Exception):
    """No more is sent. The message has the reason."""


def refusal(status: int) -> Stopped:
    """For a status after which no more is sent."""
    word = http.client.responses.get(status, "refused")
    help_ = STOP_AT.get(status, "name a path, with a body, that it accepts")
    return Stopped(f"the server answered {status} ({word}), so no more was sent: {help_}")


def in_words(error: Exception) -> str:
    """What became of a request, for a report."""
    if isinstance(error, (TimeoutError, BadAnswer)) and str(error):
        return f"{error} (--timeout)" if isinstance(error, TimeoutError) else str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """The system's authorities, or those of the file. Raises CouldNotRun."""
    try:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except (OSError, ssl.SSLError) as error:
        raise CouldNotRun(f"{ca_file}: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def connected(route: Route, context: ssl.SSLContext | None, timeout_s: float, *, nodelay: bool = True) -> Probe:
    """A connection along the route. Raises CouldNotRun when there is none."""
    tunnel = b""
    if route.proxy is not None and route.tls:
        where, said = authority(route.host, route.port), credentials(route.proxy)
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}", *([f"Proxy-Authorization: {said}"] if said else [])]
        tunnel = ("\r\n".join(lines) + "\r\n\r\n").encode()
    try:
        return Probe(route.address, nodelay=nodelay, context=context, server_name=route.host, tunnel=tunnel, timeout_s=timeout_s)
    except ssl.SSLCertVerificationError as error:
        raise CouldNotRun(f"the certificate of {route.host} is not trusted: {error.verify_message}") from error
    except (BadAnswer, ssl.SSLError) as error:
        raise CouldNotRun(f"no TLS connection to {route.host} through {route.first_hop}: {error}") from error
    except OSError as error:
        raise CouldNotRun(f"no connection to {route.first_hop}: {error.strerror or error}") from error


@dataclass
class Samples:
    """Those that count, by arm, and what happened beside them."""

    taken: dict[str, list[Exchange]] = field(default_factory=lambda: defaultdict(list))
    sent: int = 0
    answered: Counter[str] = field(default_factory=Counter)  # by arm, counted or not
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by arm
    slowest_s: float = 0.0
    unanswered: bool = False  # one ran into its time limit
    kept_alive: bool | None = None

    def of(self, *arms: Arm) -> list[Exchange]:
        return [one for arm in arms for one in self.taken[arm.key]]

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
    probe: Probe | None = None
    used: int = 0  # requests on this connection
    apart_s: float = APART_S

    def close(self) -> None:
        if self.probe is not None:
            self.probe.close()
            self.probe = None

    def once(self, timeout_s: float) -> Exchange:
        """One request. Raises CouldNotRun where no server listens, OSError where it is not answered."""
        samples, request = self.samples, self.request
        if self.probe is None:
            self.probe, self.used = connected(self.route, self.context, timeout_s, nodelay=self.arm.nodelay), 0
        if samples.unanswered:
            timeout_s = min(timeout_s, max(LEAST_S, PATIENCE * samples.slowest_s))
        samples.sent += 1
        self.used += 1
        pieces = [request.first, request.second] if self.arm.split else [request.first + request.second]
        try:
            made = self.probe.exchange(pieces, request.method, gap_s=self.apart_s, quick=self.arm.quick, timeout_s=timeout_s)
        except OSError as error:
            self.close()
            samples.unanswered = samples.unanswered or isinstance(error, TimeoutError)
            if isinstance(error, NotHttp):
                raise CouldNotRun(str(error)) from error
            raise
        samples.answered[self.arm.key] += 1
        samples.statuses[made.status] += 1
        samples.slowest_s = max(samples.slowest_s, made.total_ns / 1e9)
        if self.used > 1:
            samples.kept_alive = True
        if not made.keep_alive:
            self.close()
            samples.kept_alive = samples.kept_alive or False
        return made

    def several(self, warm_up: int, counted: int, timeout_s: float) -> None:
        """So many requests, of which the first count nothing; fewer where the server does not take this arm's."""
        samples, failures, answered = self.samples, self.samples.failures[self.arm.key], 0
        while answered < warm_up + counted and len(failures) < max(GIVE_UP, samples.answered[self.arm.key]):
            fresh = self.probe is None
            try:
                made = self.once(timeout_s)
            except OSError as error:
                # A server may close an idle connection at any time: that alone is no failure.
                if fresh or isinstance(error, TimeoutError):
                    failures.append(in_words(error))
                continue
            answered += 1
            if answered > warm_up:
                samples.taken[self.arm.key].append(made)
            if made.status in (STOP_SPLIT_AT if self.arm.split else STOP_AT):
                raise refusal(made.status)


def requests_per_line(rounds: int) -> int:
    """The number of requests that a line makes for so many samples."""
    return WARM_UP + rounds + -(-rounds // BLOCK)


def measure(lines: list[Line], rounds: int, timeout_s: float, show: Callable[[int], None]) -> None:
    """`rounds` samples per line, one request at a time, the lines in turn by blocks. Raises CouldNotRun, Stopped.

    The first of a block counts nothing: a connection that was idle while others had their turn delays no ACK (Linux
    does so when requests and answers follow each other closely, as a busy client's do).
    """
    try:
        for line in lines:
            line.several(WARM_UP, 0, timeout_s)
        for begin in range(0, rounds, BLOCK):
            show(begin)
            for line in lines:
                line.several(1, min(BLOCK, rounds - begin), timeout_s)
    finally:
        for line in lines:
            line.close()
