"""`onewrite serve`: starts a server, sends it requests, and judges its answers."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from onewrite_lab.witness import AVAILABLE, SocketReading, WitnessError, read_loss

from onewrite_cli.common.controls import answer_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.holds import sockets_of
from onewrite_cli.common.outcome import Report, apply_severities, read_severities
from onewrite_cli.common.response import Client
from onewrite_cli.common.run import background, name_of
from onewrite_cli.common.terminal import counted, progress
from onewrite_cli.serve.findings import Observed, Process, judge

__all__ = ["ServeOptions", "serve"]

CONNECTIONS = 8  # at the same time, so that every worker gets some
LOOK_S = 0.05
ACCEPT_S = 1.0  # the most that a connection may wait for its worker
SET_S = 0.2  # and for its options
ANSWER_S = 15.0
FREE_S = 3.0  # no thread of the server takes a connection that waits for so long, and for 3 times as long as the first
HOSTS = ("localhost", "::1", "127.0.0.1")
PLACEHOLDER = "{port}"
NOT_FOUND = "no process of the command owns the connections (a container or another user?)"


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
        self._roots, self._host, self._port, self._options = roots, host, port, options
        self._each = 2 * -(-options.requests // CONNECTIONS)  # requests of a connection, with delayed and with quick ACKs
        self._at_a_time = 0  # how many connections the server answers at the same time; 0: all

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
        self.seen.resent_segments = (read_loss() - before).total
        if self.seen.answers and not problem and all(one.status >= 400 for one in self.seen.answers):
            problem = f"every answer is an error ({self.seen.answers[0].status}): name a path with --path"
        return problem

    def notes(self) -> list[str]:
        notes = []
        if self._at_a_time:
            few = counted(self._at_a_time, "connection")
            notes.append(f"the server answers {few} at a time, so they were used in turn: a client that keeps more open waits")
        statuses = sorted({one.status for one in self.seen.answers})
        if any(status >= 400 for status in statuses):
            notes.append(f"the answers have status {', '.join(map(str, statuses))}: name a path with --path")
        if any(not one.keep_alive for one in self.seen.answers):
            notes.append("the server closes connections after an answer, so most of them were new")
        if self.seen.answers and self.seen.answers[0].server:
            notes.append(f"the server says that it is {self.seen.answers[0].server}")
        return notes

    def _connect(self, most_s: float = ANSWER_S) -> Client:
        limit_s = min(self._options.timeout_s, ANSWER_S)
        client = Client(self._host, self._port, tls=self._options.tls, timeout_s=min(most_s, limit_s))
        client.timeout_s = limit_s
        self.seen.connections += 1
        return client

    def _ask(self) -> None:
        """Each connection is used some times in a row. All are opened first, so that every worker gets some.

        Not so where the server closes connections, or has fewer threads than there are connections: its worker may
        serve one at a time, and wait for a request on an idle one.
        """
        clients, begun = [self._connect()], time.monotonic()
        kept = clients[0].request(self._options.path, quick=False).keep_alive
        patience_s = max(FREE_S, 3 * (time.monotonic() - begun))
        done = 0
        try:
            if kept:
                with contextlib.suppress(TimeoutError):  # its backlog is full, or no thread answers the TLS handshake
                    while len(clients) < CONNECTIONS:
                        clients.append(self._connect(patience_s))
                while done < len(clients) and (done == 0 or self._answers(clients[done], patience_s)):
                    clients[done] = self._use(clients[done])
                    done += 1
                self._at_a_time = 0 if done == CONNECTIONS else done
        finally:
            for client in clients:
                client.close()
        for _ in range(done, CONNECTIONS):
            self._use(self._connect(), look_first=not kept).close()

    def _answers(self, client: Client, patience_s: float) -> bool:
        """True if a thread of the server takes this connection while the others stay open."""
        usual_s, client.timeout_s = client.timeout_s, patience_s
        with contextlib.suppress(TimeoutError):
            client.request(self._options.path, quick=False)
            client.timeout_s = usual_s
            return True
        return False

    def _use(self, client: Client, *, look_first: bool = False) -> Client:
        """Make the requests of one connection, with a new connection each time the server closes it; return the open one."""
        for turn in range(self._each):
            if turn == 0 and look_first:
                self._look(client.port)  # its socket is gone after the answer
            answered = client.request(self._options.path, quick=turn % 2 == 1, silent=self._reading)
            self.seen.answers.append(answered)
            if turn == 0 and not look_first:
                self._look(client.port)  # some set the option with the first answer
            if not answered.keep_alive and turn + 1 < self._each:
                client.close()
                client = self._connect()
        return client

    def _look(self, client_port: int) -> None:
        """Note TCP_NODELAY of the accepted socket. A worker may take a while to accept it, and to set the option then."""
        seen = self.seen
        if not AVAILABLE:
            seen.unread = "reading another process's sockets needs Linux"
            return
        seen.searched += 1
        begun = time.monotonic()
        while True:
            found = self._reading(client_port)
            waited_s = time.monotonic() - begun
            if (found and found.nodelay) or waited_s >= (SET_S if found else ACCEPT_S) or seen.unread not in (None, NOT_FOUND):
                break
            time.sleep(LOOK_S / 10)
        if found:
            seen.accepted.append(Process(found.pid, name_of(found.pid), found.nodelay))

    def _reading(self, client_port: int) -> SocketReading | None:
        """The server's end of a connection. Where it cannot be read, `seen.unread` says why."""
        self.seen.unread = NOT_FOUND
        try:
            for reading in sockets_of(self._roots(), client_port):
                self.seen.unread = None
                return reading
        except ProcessLookupError:
            self.seen.unread = "the server has ended"
        except (WitnessError, OSError) as error:
            self.seen.unread = str(error)
        return None

    def _add_controls(self) -> None:
        split_ns, single_ns = answer_controls()
        self.seen.split_tails_ns += split_ns
        self.seen.single_tails_ns += single_ns
