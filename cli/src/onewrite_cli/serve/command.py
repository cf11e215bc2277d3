"""`onewrite serve`: starts a server, sends it requests, and judges its answers."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from onewrite_lab.witness import read_loss

from onewrite_cli.common.controls import answer_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Report, apply_severities, read_severities
from onewrite_cli.common.response import Client
from onewrite_cli.common.run import background, name_of
from onewrite_cli.common.sockets import Sockets
from onewrite_cli.common.terminal import progress
from onewrite_cli.serve.findings import Observed, Process, judge

__all__ = ["ServeOptions", "serve"]

CONNECTIONS = 8  # at the same time, so that every worker gets some
LOOK_S = 0.05
ACCEPT_S = 1.0  # the most that a connection may wait for its worker
SET_S = 0.2  # and for its options
ANSWER_S = 15.0
QUEUE_S = 2.0  # the server's queue is full for a connection that waits for so long
HOSTS = ("localhost", "::1", "127.0.0.1")
PLACEHOLDER = "{port}"


@dataclass
class ServeOptions:
    """The options of the command line."""

    command: list[str]
    requests: int = 20
    port: int | None = None
    path: str = "/"
    tls: bool = False
    rules: list[str] = field(default_factory=list)
    strict: bool = False
    timeout_s: float = 120.0
    show: bool = False


def serve(options: ServeOptions) -> Report:
    """Raises CouldNotRun."""
    severities = read_severities(options.rules, strict=options.strict)
    if options.port is None and not any(PLACEHOLDER in part for part in options.command):
        raise CouldNotRun("write {port} where the server takes its port, or say which it takes: --port N")
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
                raise CouldNotRun(f"the server ended with status {ended}: {server.said() or 'it printed nothing'}")
            if time.monotonic() > deadline:
                raise CouldNotRun(f"the server does not listen on port {port} after {options.timeout_s:g} s")
            time.sleep(LOOK_S)
        show(f"sending requests to port {port}")
        visit = _Visit(server.roots, host, port, options)
        problem = visit.run()
    seen = visit.seen
    sockets = ", the server's sockets (pidfd_getfd)" if seen.accepted else ""
    witness = f"the client (TCP_INFO){sockets}"
    report = Report("onewrite serve", options.command, witness, 1, len(seen.answers), seen.connections, judge(seen))
    report.notes, report.problem = visit.notes(), problem
    report.control_ms = round(median(seen.split_tails_ns) / 1e6, 1) if seen.split_tails_ns else None
    apply_severities(report.outcomes, severities)
    return report


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        return port


def _host_of(port: int) -> str | None:
    """The name or address of this machine on which somebody listens."""
    for host in HOSTS:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            continue
        return host
    return None


class _Visit:
    """The requests to a server, with the controls before and after them."""

    def __init__(self, roots: Callable[[], list[int]], host: str, port: int, options: ServeOptions) -> None:
        self.seen = Observed()
        self._sockets, self._host, self._port, self._options = Sockets(roots), host, port, options
        self._each = 2 * -(-options.requests // CONNECTIONS)  # requests of a connection, with delayed and with quick ACKs

    def run(self) -> str | None:
        """Returns why the check is inconclusive as a whole."""
        before = read_loss()
        problem: str | None = None
        self._add_controls()
        try:
            self._ask()
        except OSError as error:
            problem = f"the server did not answer GET {self._options.path}: {error or type(error).__name__}"
        self._add_controls()
        self.seen.resent_segments, self.seen.unread = (read_loss() - before).total, self._sockets.fault
        statuses = [one.response.status for one in self.seen.answers]
        if statuses and not problem and min(statuses) >= 400:
            problem = f"every answer is an error ({statuses[0]}): name a path with --path"
        return problem

    def notes(self) -> list[str]:
        notes, responses = [], [one.response for one in self.seen.answers]
        statuses = sorted({one.status for one in responses})
        if any(status >= 400 for status in statuses):
            notes.append(f"the answers have status {', '.join(map(str, statuses))}: name a path with --path")
        if any(not one.keep_alive for one in responses):
            notes.append("the server closes connections after an answer, so most of them were new")
        if responses and responses[0].server:
            notes.append(f"the server says that it is {responses[0].server}")
        return notes

    def _connect(self, most_s: float = ANSWER_S) -> Client:
        limit_s = min(self._options.timeout_s, ANSWER_S)
        client = Client(self._host, self._port, tls=self._options.tls, timeout_s=min(most_s, limit_s))
        client.timeout_s = limit_s
        self.seen.connections += 1
        return client

    def _ask(self) -> None:
        """Each connection is used some times in a row, and closed. All are opened first, so that every worker gets some.

        A server with fewer threads takes the next connection when one is closed. Where it closes connections itself, its
        worker may wait for a request on an idle one: then each is opened when the one before it has ended.
        """
        clients = [self._connect()]
        kept = clients[0].request(self._options.path, quick=False).response.keep_alive
        if kept:
            with contextlib.suppress(TimeoutError):
                while len(clients) < CONNECTIONS:
                    clients.append(self._connect(QUEUE_S))
        else:
            clients.pop().close()
        for _ in range(CONNECTIONS):
            self._use(clients.pop(0) if clients else self._connect(), look_first=not kept).close()

    def _use(self, client: Client, *, look_first: bool = False) -> Client:
        """Make the requests of one connection, with a new connection each time the server closes it; return the open one."""
        for turn in range(self._each):
            ends = self._port, client.port
            if turn == 0 and look_first:
                self._look(client.port)  # its socket is gone after the answer
            answered = client.request(self._options.path, quick=turn % 2 == 1, silent=partial(self._sockets.look, ends))
            if turn == 0 and not look_first:
                self._look(client.port)  # some set the option with the first answer
            answered.gap_ns, answered.held = self._sockets.lost(ends, answered.sent_ns, answered.response.times_ns)
            readings = self._sockets.nodelay(ends)
            answered.nodelay = all(readings) if readings else None
            self.seen.answers.append(answered)
            if not answered.response.keep_alive and turn + 1 < self._each:
                client.close()
                client = self._connect()
        return client

    def _look(self, client_port: int) -> None:
        """Note TCP_NODELAY of the accepted socket. A worker may take a while to accept it, and to set the option then."""
        self.seen.searched += 1
        begun = time.monotonic()
        while True:
            found = self._sockets.look((self._port, client_port), anew=True)
            waited_s = time.monotonic() - begun
            if (found and found.nodelay) or waited_s >= (SET_S if found else ACCEPT_S) or not self._sockets.may_be_found:
                break
            time.sleep(LOOK_S / 10)
        if found:
            self.seen.accepted.append(Process(found.pid, name_of(found.pid), found.nodelay))

    def _add_controls(self) -> None:
        split_ns, single_ns = answer_controls()
        self.seen.split_tails_ns += split_ns
        self.seen.single_tails_ns += single_ns
