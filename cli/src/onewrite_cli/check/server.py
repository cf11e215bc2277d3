"""`onewrite check` of a server: starts it, sends it requests, and judges its answers by the rules OW2xx."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from onewrite_lab.probe import Exchange, Probe, authority
from onewrite_lab.witness import read_loss

from onewrite_cli.check.command import CheckOptions
from onewrite_cli.common.controls import answer_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import FITS, Outcome, Report, State, by_mode
from onewrite_cli.common.rules import Rule, rule_named
from onewrite_cli.common.run import background, name_of
from onewrite_cli.common.sockets import Ends, Sockets
from onewrite_cli.common.stalls import Controls, Message, judge_stall
from onewrite_cli.common.terminal import progress

__all__ = ["Answered", "Observed", "Process", "check_server", "judge"]

CONNECTIONS = 8  # at the same time, so that every worker gets some
LOOK_S = 0.05
ACCEPT_S = 1.0  # the most that a connection may wait for its worker
SET_S = 0.2  # and for its options
ANSWER_S = 15.0
QUEUE_S = 2.0  # the server's queue is full for a connection that waits for so long
HOSTS = ("localhost", "::1", "127.0.0.1")
PLACEHOLDER = "{port}"


@dataclass
class Answered(Message):
    """One answer; `quick`: every segment of it was acknowledged at once."""

    quick: bool
    exchange: Exchange


@dataclass(frozen=True)
class Process:
    """The owner of an accepted connection, and its TCP_NODELAY."""

    pid: int
    name: str
    nodelay: bool


@dataclass
class Observed:
    """All that was seen of a server. `accepted` has an entry per connection whose socket could be read."""

    controls: Controls
    answers: list[Answered] = field(default_factory=list)
    connections: int = 0
    searched: int = 0  # connections whose accepted socket was searched for
    accepted: list[Process] = field(default_factory=list)
    unread: str | None = None  # why accepted sockets could not be read
    resent_segments: int = 0


def check_server(options: CheckOptions) -> Report:
    """Raises CouldNotRun."""
    if not re.fullmatch(r"/[!-~]*", options.path):
        raise CouldNotRun("--path begins with a slash, and has neither spaces nor characters beyond ASCII")
    port = options.port or _free_port()
    if _host_of(port):
        raise CouldNotRun(f"something listens on port {port} already")
    arguments = [part.replace(PLACEHOLDER, str(port)) for part in options.command]
    environment = dict(os.environ) | {"PORT": str(port), "ONEWRITE_CHECK_PORT": str(port)}
    with (
        progress(f"waiting for port {port}") as show,
        background(arguments, environment, show=options.show) as server,
    ):
        deadline = time.monotonic() + options.timeout_s
        while not (host := _host_of(port)):
            if (ended := server.ended()) is not None:
                raise CouldNotRun(f"the server ended with status {ended}: {server.printed() or 'it printed nothing'}")
            if time.monotonic() > deadline:
                raise CouldNotRun(f"the server does not listen on port {port} after {options.timeout_s:g} s")
            time.sleep(LOOK_S)
        show(f"sending requests to port {port}")
        visit = _Visit(server.roots, host, port, options)
        problem = visit.run()
    seen = visit.seen
    sockets = ", the server's sockets (pidfd_getfd)" if seen.accepted else ""
    report = Report(
        "onewrite check", options.command, f"the client (TCP_INFO){sockets}", 1, len(seen.answers), seen.connections, judge(seen)
    )
    report.notes, report.problem, report.control_ms = visit.notes(), problem, seen.controls.split_ms
    return report


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        return port


def _host_of(port: int) -> str | None:
    """The name or address of this machine on which somebody listens."""
    for host in HOSTS:
        with contextlib.suppress(OSError):
            socket.create_connection((host, port), timeout=1).close()
            return host
    return None


class _Visit:
    """The requests to a server, with the controls before and after them."""

    def __init__(self, roots: Callable[[], list[int]], host: str, port: int, options: CheckOptions) -> None:
        self.seen = Observed(answer_controls())
        self._sockets, self._host, self._port, self._options = Sockets(roots), host, port, options
        self._each = 2 * -(-options.requests // CONNECTIONS)  # requests of a connection, with delayed and with quick ACKs
        fields = f"Host: {authority(host, port)}\r\nUser-Agent: onewrite-check\r\nAccept: */*"
        self._request = f"GET {options.path} HTTP/1.1\r\n{fields}\r\n\r\n".encode()
        self._limit_s = min(options.timeout_s, ANSWER_S)

    def run(self) -> str | None:
        """Returns why the check is inconclusive as a whole."""
        before, problem = read_loss(), None
        try:
            self._ask()
        except OSError as error:
            problem = f"the server did not answer GET {self._options.path}: {error or type(error).__name__}"
        self.seen.controls += answer_controls()
        self.seen.resent_segments, self.seen.unread = (read_loss() - before).total, self._sockets.fault
        self._sockets.close()
        statuses = [one.exchange.status for one in self.seen.answers]
        if statuses and not problem and min(statuses) >= 400:
            problem = f"every answer is an error ({statuses[0]}): name a path with --path"
        return problem

    def notes(self) -> list[str]:
        notes, answers = [], [one.exchange for one in self.seen.answers]
        errors = sorted({one.status for one in answers if one.status >= 400})
        if errors:
            notes.append(f"there are answers with status {', '.join(map(str, errors))}: name a path with --path")
        if any(not one.keep_alive for one in answers):
            notes.append("the server closes connections after an answer, so most of them were new")
        if answers and answers[0].server:
            notes.append(f"the server says that it is {answers[0].server}")
        return notes

    def _connect(self, most_s: float = ANSWER_S) -> Probe:
        context = None
        if self._options.tls:  # the server is the user's, so nothing is checked
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        probe = Probe((self._host, self._port), context=context, timeout_s=min(most_s, self._limit_s))
        self.seen.connections += 1
        return probe

    def _ask(self) -> None:
        """Each connection is used some times in a row, and closed. All are opened first, so that every worker gets some.

        A server with fewer threads takes the next connection when one is closed. Where it closes connections itself, its
        worker may wait for a request on an idle one: then each is opened when the one before it has ended.
        """
        probes = [self._connect()]
        kept = probes[0].exchange([self._request], "GET", quick=False).keep_alive
        if kept:
            with contextlib.suppress(TimeoutError):
                while len(probes) < CONNECTIONS:
                    probes.append(self._connect(QUEUE_S))
        else:
            probes.pop().close()
        for _ in range(CONNECTIONS):
            self._use(probes.pop(0) if probes else self._connect(), look_first=not kept).close()

    def _use(self, probe: Probe, *, look_first: bool = False) -> Probe:
        """Make the requests of one connection, with a new connection each time the server closes it; return the open one."""
        for turn in range(self._each):
            ends: Ends = probe.socket.getpeername()[:2], probe.socket.getsockname()[:2]
            if turn == 0 and look_first:
                self._look(ends)  # its socket is gone after the answer
            quick, silent = turn % 2 == 1, partial(self._sockets.look, ends)
            made = probe.exchange([self._request], "GET", quick=quick, silent=silent, timeout_s=self._limit_s)
            if turn == 0 and not look_first:
                self._look(ends)  # some set the option with the first answer
            gap_ns, held = self._sockets.lost(ends, made.written_ns, made.times_ns)
            nodelay = self._sockets.nodelay(ends)
            segments = made.segments
            self.seen.answers.append(Answered(quick, made, segments=segments, nodelay=nodelay, gap_ns=gap_ns, held=held))
            if not made.keep_alive and turn + 1 < self._each:
                probe.close()
                probe = self._connect()
        return probe

    def _look(self, ends: Ends) -> None:
        """Note TCP_NODELAY of the accepted socket. A worker may take a while to accept it, and to set the option then."""
        self.seen.searched += 1
        begun = time.monotonic()
        while True:
            found = self._sockets.read_nodelay(ends)
            waited_s = time.monotonic() - begun
            if (found and found[1]) or waited_s >= (SET_S if found else ACCEPT_S) or not self._sockets.may_be_found:
                break
            time.sleep(LOOK_S / 5)
        if found:
            self.seen.accepted.append(Process(found[0], name_of(found[0]), found[1]))


def judge(seen: Observed) -> list[Outcome]:
    """One outcome per rule, in their order."""
    return [judged(rule_named(name), seen) for name, judged in (("OW201", _split), ("OW202", _nodelay), ("OW205", _stall))]


def _split(rule: Rule, seen: Observed) -> Outcome:
    fitting = [one for one in seen.answers if one.exchange.wire_bytes <= FITS and one.segments is not None]
    if not fitting:
        why = "every answer was larger than 16 KiB, and must be split" if seen.answers else "no answer came"
        return Outcome(rule, State.SKIPPED, why, unit="answers")
    outcome = by_mode(rule, [one.segments or 0 for one in fitting], "segments", seen.resent_segments, "answer")
    if outcome.state is State.OK and not any(one.exchange.size for one in fitting):
        why = "no answer had a body, and only a body shows whether it leaves with its head: name a path with --path"
        return Outcome(rule, State.SKIPPED, why, unit="answers")
    split = [one for one in fitting if (one.segments or 0) > 1]
    outcome.examples = [f"{one.exchange.wire_bytes} bytes in {one.segments} segments" for one in split[:3]]
    return outcome


def _nodelay(rule: Rule, seen: Observed) -> Outcome:
    off = [one for one in seen.accepted if not one.nodelay]
    processes = len({one.pid for one in seen.accepted})
    blind = seen.searched - len(seen.accepted)
    where = f"{processes} process{'' if processes == 1 else 'es'}" + (f"; {blind} could not be read" if blind else "")
    if off:
        outcome = Outcome(rule, State.FOUND, f"in {where}", len(off), len(seen.accepted), "connections")
        outcome.examples = [f"{one.name} (pid {one.pid})" for one in {one.pid: one for one in off}.values()][:3]
        return outcome
    if len(seen.accepted) * 2 < seen.searched or not seen.accepted:
        why = seen.unread or "no accepted socket could be read"
        return Outcome(rule, State.SKIPPED, f"{len(seen.accepted)} of {seen.searched} sockets: {why}", unit="connections")
    return Outcome(rule, State.OK, f"on, in {where}", 0, len(seen.accepted), "connections")


def _stall(rule: Rule, seen: Observed) -> Outcome:
    delayed = [one for one in seen.answers if not one.quick]
    if not delayed:
        return Outcome(rule, State.SKIPPED, "no answer came", unit="answers")
    return judge_stall(rule, delayed, "answer", "server", seen.controls)[0]
