"""`onewrite check --serve`: starts a server, asks it, and judges its answers."""

from __future__ import annotations

import os
import random
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from onewrite_lab.witness import AVAILABLE, SocketReading, WitnessError, connections, read_loss

from onewrite_cli.check.outcome import Report
from onewrite_cli.check.run import background
from onewrite_cli.doctor.response import BadResponse
from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.progress import Progress
from onewrite_cli.serve.client import Client
from onewrite_cli.serve.controls import answer_controls
from onewrite_cli.serve.findings import Observed, Process, judge

if TYPE_CHECKING:
    from onewrite_cli.check.command import CheckOptions

__all__ = ["check_server"]

CONNECTIONS = 8  # at the same time, so that every worker gets some
LOOK_S = 0.05
ACCEPT_S = 1.0  # the most that a connection may wait for its worker
SET_S = 0.2  # and for its options
PLACEHOLDER = "{port}"


def check_server(options: CheckOptions) -> Report:
    """Raises CouldNotRun."""
    if options.port is None and not any(PLACEHOLDER in part for part in options.command):
        raise CouldNotRun("write {port} where the server takes its port, or say which it takes: --port N")
    port = options.port or _quiet_port()
    if _listens(port):
        raise CouldNotRun(f"something listens on port {port} already")
    arguments = [part.replace(PLACEHOLDER, str(port)) for part in options.command]
    environment = dict(os.environ) | {"PORT": str(port), "ONEWRITE_CHECK_PORT": str(port)}
    with (
        Progress(f"waiting for port {port}") as progress,
        background(arguments, environment, show=options.show) as server,
    ):
        deadline = time.monotonic() + options.timeout_s
        while not _listens(port):
            if server.poll() is not None:
                raise CouldNotRun(f"the server ended with status {server.poll()}: {server.said() or 'it said nothing'}")
            if time.monotonic() > deadline:
                raise CouldNotRun(f"the server does not listen on port {port} after {options.timeout_s:g} s")
            time.sleep(LOOK_S)
        progress.say(f"asking port {port}")
        seen, notes, problem = _observe(server.pid, port, options)
    report = Report(options.command, _witness(seen), 1, len(seen.answers), seen.connections, judge(seen), notes, problem)
    tails = sorted(seen.split_tails_ns)
    report.control_ms = round(tails[len(tails) // 2] / 1e6, 1) if tails else None
    return report


def _quiet_port() -> int:
    """A free port from below those that the kernel gives to clients, so that none takes it in the meantime."""
    try:
        below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        below = 32768
    for _ in range(100):
        port = random.randrange(10_000, max(below, 11_000))
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise CouldNotRun("no free port was found: say --port N")


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return False
    return True


def _witness(seen: Observed) -> str:
    sockets = ", the server's sockets (pidfd_getfd)" if seen.accepted else ""
    return f"the client that asked (TCP_INFO){sockets}"


def _observe(pid: int, port: int, options: CheckOptions) -> tuple[Observed, list[str], str | None]:
    """Ask the server, with the controls before and after it."""
    seen = Observed()
    before = read_loss()
    problem: str | None = None
    _add_controls(seen)
    try:
        _ask(seen, pid, port, options)
    except (OSError, BadResponse, ValueError) as error:
        problem = f"the server did not answer GET {options.path}: {error or type(error).__name__}"
    _add_controls(seen)
    seen.resent_segments = (read_loss() - before).total
    notes = []
    if seen.answers:
        statuses = {one.status for one in seen.answers}
        if any(status >= 400 for status in statuses):
            notes.append(f"the answers have status {', '.join(map(str, sorted(statuses)))}: name a path with --path")
        if server := seen.answers[0].server:
            notes.append(f"the server says that it is {server}")
    return seen, notes, problem


def _ask(seen: Observed, pid: int, port: int, options: CheckOptions) -> None:
    """Each connection is used some times in a row, with delayed ACKs and with quick ones.

    All are opened first, so that every worker gets some. Not so where the server closes connections: its worker may
    serve one at a time, and wait for a request on an idle one.
    """

    def connect() -> Client:
        seen.connections += 1
        return Client("localhost", port, tls=options.tls, timeout_s=min(options.timeout_s, 15.0))

    clients = [connect()]
    try:
        kept = clients[0].request(options.path, 0, quick=False).keep_alive
        if kept:
            clients += [connect() for _ in range(1, CONNECTIONS)]
        each = -(-options.requests // CONNECTIONS)
        for index in range(CONNECTIONS):
            for turn in range(2 * each):
                if not kept:
                    clients[:] = [connect()]
                client = clients[index if kept else 0]
                if turn == 0 and not kept:
                    _look(seen, pid, client.port)  # its socket is gone after the answer
                answered = client.request(options.path, index, quick=turn % 2 == 1)
                seen.answers.append(answered)
                if turn == 0 and kept:
                    _look(seen, pid, client.port)  # some set the option with the first answer
                if not answered.keep_alive:
                    client.close()
                    if kept:
                        clients[index] = connect()
    finally:
        for client in clients:
            client.close()


def _look(seen: Observed, pid: int, client_port: int) -> None:
    """Note TCP_NODELAY of the accepted socket. A worker may take a while to accept it, and to set the option then."""
    if not AVAILABLE:
        seen.unread = "reading another process's sockets needs Linux"
        return
    seen.looked += 1
    begun = time.monotonic()
    found: list[SocketReading] = []
    while True:
        try:
            found = connections(pid, client_port)
        except (WitnessError, ProcessLookupError) as error:
            seen.unread = str(error) if isinstance(error, WitnessError) else "the server has ended"
            return
        if (found and found[0].nodelay) or time.monotonic() - begun >= (SET_S if found else ACCEPT_S):
            break
        time.sleep(LOOK_S / 10)
    if not found:
        seen.unread = "no process of the command owns the connections (a container, a daemon or another user?)"
        return
    seen.accepted.append(Process(found[0].pid, _name(found[0].pid), found[0].nodelay))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "a process"


def _add_controls(seen: Observed) -> None:
    split_ns, single_ns = answer_controls()
    seen.split_tails_ns += split_ns
    seen.single_tails_ns += single_ns
