"""Faults that were reported from outside, and their whole kinds."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CLIENT, Done, clean_environment, onewrite
from onewrite_cli.doctor import request as routes
from onewrite_cli.doctor.request import route_to, with_open_address
from peers import ANSWER, Listener, Server


class DropsTheBody(Listener):
    """Reads a head, loses the body that came in the same read, and waits for it: `then` says how it ends that."""

    def __init__(self, then: str) -> None:
        self._then = then
        super().__init__(self._talk)

    def _talk(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            while self._one(sock):
                pass

    def _one(self, sock: socket.socket) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            data = sock.recv(65536)
            if not data:
                return False
            head += data
        found = re.search(rb"(?i)content-length: *(\d+)", head)
        wanted, body = int(found[1]) if found else 0, 0
        sock.settimeout(None if self._then == "waits" else 0.2)
        while body < wanted:
            try:
                data = sock.recv(65536)
            except TimeoutError:
                return self._refuse(sock)
            if not data:
                return False
            body += len(data)
        sock.settimeout(None)
        sock.sendall(ANSWER + b"ok\n")
        return True

    def _refuse(self, sock: socket.socket) -> bool:
        sock.settimeout(None)
        if self._then == "resets":
            return False
        sock.sendall(ANSWER.replace(b"200 OK", b"408 Request Timeout") + b"no\n")
        return True


@pytest.mark.timed
@pytest.mark.parametrize("then", ["waits", "resets", "408"])
def test_a_server_that_one_write_breaks_is_named(then: str) -> None:
    server = DropsTheBody(then)
    url = f"http://127.0.0.1:{server.port}/"
    done = onewrite("doctor", url, "--post-bytes", "200", "--timeout", "10", "--samples", "5", "-f", "json")
    server.close()
    assert (done.status, done.data["verdict"]) == (1, "REFUSES WHOLE"), done.out
    assert "in two writes: status 200" in done.data["findings"][0]["why"]


def test_what_takes_neither_is_told_in_both_ways() -> None:
    held: list[socket.socket] = []
    server = Listener(held.append)
    done = onewrite("doctor", f"http://127.0.0.1:{server.port}/", "--post-bytes", "200", "--timeout", "1")
    server.close()
    for sock in held:
        sock.close()
    assert done.status == 3
    assert "In one write: no byte of an answer came in time (--timeout); In two writes: no byte" in done.err
    assert "--stream" not in done.err


@pytest.mark.parametrize(
    "line", ["check --strict --requests 3 -- CLIENT split {url}", "check --requests 3 -f json -- CLIENT none {url}"]
)
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_goes_changes_no_status(line: str, reader: str) -> None:
    line = line.replace("CLIENT", " ".join(CLIENT))
    command = f"set -o pipefail; {sys.executable} -m onewrite_cli {line} | {reader}"
    done = subprocess.run(["bash", "-c", command], env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (int("split" in line), "")


@pytest.mark.parametrize("line", ["explain", "--help", "doctor --help"])
def test_nobody_reads_at_all(line: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m onewrite_cli {line} 2>&1 | true"
    done = subprocess.run(["bash", "-c", command], env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout + done.stderr == ""


FEW_THREADS = """
import contextlib, socket, sys, threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=int(sys.argv[4]))
nodelay = int(sys.argv[3])

def serve():
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        with sock, contextlib.suppress(OSError):
            while sock.recv(65536):
                head, body = b"HTTP/1.1 200 OK\\r\\nContent-Length: 200\\r\\n\\r\\n", b"x" * 200
                if nodelay:
                    sock.sendall(head + body)
                else:
                    sock.sendall(head); sock.sendall(body)

for _ in range(int(sys.argv[2])):
    threading.Thread(target=serve).start()
"""


@pytest.mark.parametrize(("threads", "backlog"), [(1, 64), (2, 64), (1, 5)])
@pytest.mark.parametrize("nodelay", [True, False])
def test_a_server_with_few_threads_is_judged(threads: int, backlog: int, nodelay: bool) -> None:
    command = (sys.executable, "-c", FEW_THREADS, "{port}", str(threads), str(int(nodelay)), str(backlog))
    done = onewrite("check", "--strict", "-f", "json", "--rule", "answer-stall=off", "--", *command)
    assert done.data["problem"] is None, done.out
    assert done.states["OW202"] == ("ok" if nodelay else "found")
    assert done.states["OW201"] == ("ok" if nodelay else "found")
    assert done.finding("OW202")["of"] == 8


def test_nothing_that_could_be_judged_is_no_pass() -> None:
    off = ("--rule", "nodelay=off", "--rule", "stall=off")
    large = onewrite("check", "-f", "json", *off, "--", *CLIENT, "large", "{url}")
    assert (large.status, large.data["verdict"]) == (2, "inconclusive")
    bodiless = onewrite("check", "--", *CLIENT, "get", "{url}")
    assert bodiless.out.startswith("CLEAN as far as it could be judged: TCP_NODELAY is on; no stall. Not judged:")
    idle = onewrite("watch", "-f", "json", "--seconds", "1", "--", sys.executable, "-c", IDLE)
    assert (idle.status, idle.data["problem"]) == (2, "no socket sent anything while it was watched")


IDLE = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
time.sleep(30)
"""


@contextlib.contextmanager
def on_ipv6() -> Iterator[int]:
    try:
        server = Server(host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    try:
        yield server.port
    finally:
        server.close()


def test_an_ipv6_address_is_in_brackets() -> None:
    with on_ipv6() as port:
        done = onewrite("doctor", f"http://[::1]:{port}/", "--samples", "5", "-f", "json", env={"no_proxy": "::1"})
        assert (done.data["first_hop"], done.data["url"]) == (f"[::1]:{port}", f"http://[::1]:{port}/")
        proxied = onewrite("check", "-f", "json", "--proxy", "--", *CLIENT, "proxy", f"http://[::1]:{port}/")
        assert f"20 requests went on to [::1]:{port}, which has acted on them" in proxied.data["notes"]


def test_a_server_that_listens_on_ipv6_alone() -> None:
    with on_ipv6():
        program = "import http.server, socket, sys\nclass S(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6\n"
        program += "S(('::1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()"
        done = onewrite("check", "--strict", "-f", "json", "--", sys.executable, "-c", program, "{port}")
        assert done.data["problem"] is None, done.out
        assert done.states["OW201"] == "found"


def test_all_addresses_of_a_name_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str) -> tuple[str, ...]:
        return ("127.0.0.9", "127.0.0.8", "127.0.0.1")

    monkeypatch.setattr(routes, "_resolve", resolve)
    server = Server()
    route = route_to(f"http://several.example:{server.port}/", "none")
    assert route.loopback
    assert with_open_address(route, 5).first_hop == f"127.0.0.1:{server.port}"
    server.close()


LEFT = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child}")
time.sleep(60)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_ignores_sigterm_is_ended_with_its_group(tmp_path: Path) -> None:
    """Also one whose leader has ended before."""
    pids = tmp_path / "pids"
    program = LEFT.replace("time.sleep(60)", "time.sleep(0.2 if child else 60)")
    onewrite("check", "--requests", "1", "--", sys.executable, "-c", program, str(pids))
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


BUSY = """
import sys, threading, time
from onewrite_lab.probe import Probe, request_pieces
def drive(url, nagle, split):
    probe, end = Probe.to(url, nodelay=not nagle), time.monotonic() + 4
    while time.monotonic() < end:
        probe.exchange(request_pieces(url, b"x" * 100, writes=1 + split))
        time.sleep(0.002)
for number, url in enumerate(sys.argv[1:]):
    threading.Thread(target=drive, args=(url, number % 5 in (0, 1), number % 5 in (0, 2))).start()
"""


@pytest.mark.timed
def test_watch_names_the_right_ones_of_twenty_busy_sockets() -> None:
    """Of each five, one splits with Nagle on; the others have Nagle on, or split, or neither."""
    servers = [Server() for _ in range(20)]
    done: Done = onewrite("watch", "-f", "json", "--", sys.executable, "-c", BUSY, *(server.url for server in servers))
    for server in servers:
        server.close()
    found = {one["peer_port"] for one in done.data["sockets"] if one["found"]}
    assert len(done.data["sockets"]) == 20
    assert found == {servers[number].port for number in range(0, 20, 5)}


def test_a_window_that_is_full_is_not_nagles(tmp_path: Path) -> None:
    program = (
        "import socket, sys, time\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "s.setblocking(False)\n"
        "try:\n    while True: s.send(b'x' * 65536)\nexcept BlockingIOError: time.sleep(3)"
    )
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        done = onewrite("watch", "-f", "json", "--", sys.executable, "-c", program, str(deaf.getsockname()[1]))
    (one,) = done.data["sockets"]
    assert one["holds"] >= 1
    assert ("nagle_delayed_ack" in one["causes"], one["found"], done.status) == (0, False, 0)
