"""`onewrite watch`: what is held, and in which direction."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from onewrite_lab.probe import Probe, request_pieces
from onewrite_lab.tap import Tap

from conftest import CLIENT, Done, clean_environment, onewrite, wait_for
from onewrite_cli.watch.sockets import WatchedSocket, Watcher
from peers import Server


def watch(faults: str, *options: str) -> Done:
    """The test's own client under watch, against a server that delays its ACKs."""
    server = Server()
    done = onewrite("watch", "-f", "json", *options, "--", *CLIENT, faults, server.url, "--requests", "40")
    server.close()
    return done


def test_a_hold_is_seen() -> None:
    done = watch("split,nagle")
    (one,) = done.data["sockets"]
    assert (one["direction"], one["peer"], one["nodelay"], one["found"]) == ("out", "127.0.0.1", False, True)
    assert one["name"] == f"out 127.0.0.1:{one['peer_port']}"
    assert 1 <= one["holds"] <= 40
    assert one["held_bytes"] == 200
    assert done.status == 1


def test_held_bytes_are_those_that_the_kernel_has_not_sent() -> None:
    """The same two writes on two sockets, to a peer that delays its ACK: Nagle's holds the body, the other nothing."""
    body = b"x" * 321
    with Tap() as tap:
        clients = [Probe.to(tap.base, nodelay=nodelay) for nodelay in (False, True)]

        turns = 0

        def drive() -> None:
            nonlocal turns
            while not enough.is_set() and turns < 1000:
                turns += 1
                for client in clients:
                    client.exchange(request_pieces(tap.base, body, writes=2))

        def out() -> list[WatchedSocket]:
            return [one for one in watcher.sockets if one.direction == "out" and one.peer_port == tap.port]

        enough = threading.Event()
        driver, watcher = threading.Thread(target=drive), Watcher(lambda: [os.getpid()])
        driver.start()
        while driver.is_alive():
            watcher.sample()
            if any(one.holds >= 5 for one in out()):  # a busy machine samples some of them alone
                enough.set()
            time.sleep(0.005)
        for client in clients:
            client.close()
    held, free = sorted(out(), key=lambda one: one.nodelay)
    assert (held.nodelay, held.held_bytes) == (False, len(body))
    assert 5 <= held.holds <= turns
    assert (free.nodelay, free.held_bytes, free.holds) == (True, 0, 0)


def test_nagle_alone_holds_nothing() -> None:
    # 30 ms at each answer: long enough to be sampled, and nothing is held meanwhile.
    server = Server(think_s=0.03)
    done = onewrite("watch", "-f", "json", "--", *CLIENT, "nagle", server.url)
    server.close()
    (one,) = done.data["sockets"]
    assert (one["nodelay"], one["holds"], one["found"], done.status) == (False, 0, False, 0)


def test_accepted_connections_are_told_from_others() -> None:
    program = [sys.executable, str(Path(__file__).parent / "server.py"), "nagle"]
    server = subprocess.Popen([*program, "0"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert client.recv(4096)
            done = onewrite("watch", "--pid", str(server.pid), "--seconds", "1", "-f", "json")
    finally:
        server.kill()
        server.communicate()
    (one,) = done.data["sockets"]
    assert (one["direction"], one["name"], one["nodelay"]) == ("in", f"in :{port}", False)


def test_what_cannot_be_watched() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert "no process" in onewrite("watch", "--pid", str(gone.pid)).err
    assert onewrite("watch").status == 3
    ended = subprocess.Popen(["true"])
    try:
        wait_for(lambda: Path(f"/proc/{ended.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        assert "no process" in onewrite("watch", "--pid", str(ended.pid)).err
    finally:
        ended.wait()
    silent = onewrite("watch", "-f", "json", "--", "sleep", "0.3")
    assert (silent.status, silent.data["problem"]) == (2, "no TCP connection was seen")


def test_one_hold_on_each_of_many_connections_is_found() -> None:
    watcher = Watcher(lambda: [os.getpid()])
    watcher.sockets = [WatchedSocket("client 1", "out", 1000 + number, "127.0.0.1", 80, nodelay=False) for number in range(3)]
    assert watcher.found() == []
    watcher.sockets[0].causes["nagle_delayed_ack"] += 1
    assert watcher.found() == []
    watcher.sockets[1].causes["cork"] += 1
    assert watcher.found() == watcher.sockets[:2]
    watcher.sockets[1].causes["peer_window"] += 2  # most of its holds are the peer's
    assert watcher.found() == []


def test_without_the_right_to_ptrace_it_says_so_in_one_line() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs another user's process")
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", sys.executable]
    tried = subprocess.run([*command, "-c", "import onewrite_cli"], capture_output=True, check=False, env={"HOME": "/tmp"})
    if tried.returncode:
        pytest.skip("another user may not read this Python")
    done = subprocess.run(
        [*command, "-m", "onewrite_cli", "watch", "--pid", str(os.getpid())],
        capture_output=True, text=True, env=clean_environment() | {"HOME": "/tmp"}, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1


def test_on_a_terminal_the_table_refreshes() -> None:
    ours, theirs = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        command = [sys.executable, "-m", "onewrite_cli", "watch", "--pid", str(os.getpid()), "--seconds", "2"]
        child = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=clean_environment() | {"TERM": "xterm"})
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # EIO: the other end is gone
                break
        child.wait(30)
    os.close(ours)
    assert shown.count(b"\x1b[H\x1b[J") >= 2
    assert b"NODELAY" in shown
