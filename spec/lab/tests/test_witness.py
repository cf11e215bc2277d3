"""The witness reads another process's sockets without its help."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from onewrite_lab import witness
from onewrite_lab.witness import sockets

pytestmark = pytest.mark.skipif(not witness.AVAILABLE, reason="needs Linux")

CLIENT = """
import socket, sys
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
for _ in range(3): sock.sendall(b"x" * 10); sock.recv(1)
print("ready", flush=True); sys.stdin.read()
"""


ZOMBIE = """
import ctypes, os
from onewrite_lab import witness
if os.geteuid() == 0:
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE, which setuid takes away
child = os.fork()
if child == 0:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child in witness.process_tree(os.getpid()), witness.connections(os.getpid(), 0))
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def started(listener: socket.socket, nodelay: int, *before: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    port = str(listener.getsockname()[1])
    command = [*before, sys.executable, "-c", CLIENT, port, str(nodelay)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    accepted, _ = listener.accept()
    for _ in range(3):
        accepted.recv(100)
        accepted.sendall(b"y")
    assert process.stdout is not None
    process.stdout.readline()
    return process, accepted


def ended(process: subprocess.Popen[bytes], accepted: socket.socket) -> None:
    process.communicate(b"")
    accepted.close()


@pytest.mark.parametrize("nodelay", [0, 1])
def test_it_sees_options_and_segments(listener: socket.socket, nodelay: int) -> None:
    process, accepted = started(listener, nodelay)
    try:
        port = listener.getsockname()[1]
        (reading,) = witness.connections(process.pid, port, options=True)
        assert reading.nodelay == bool(nodelay)
        assert (reading.data_segs_out, reading.bytes_sent, reading.data_segs_in) == (3, 30, 3)
        assert reading.local_port == accepted.getpeername()[1]
        assert (reading.pid, reading.peer, reading.not_sent) == (process.pid, "127.0.0.1", 0)
        assert reading.options["SO_KEEPALIVE"] == 1
        assert witness.connections(process.pid, port + 1) == []
    finally:
        ended(process, accepted)


def test_a_child_that_has_ended_and_was_not_waited_for_has_no_sockets() -> None:
    """The kernel gives the files of such a process to root alone."""
    done = subprocess.run([sys.executable, "-c", ZOMBIE], capture_output=True, text=True, check=False)
    assert done.stdout == "True []\n", done.stderr


def test_it_sees_what_nagle_holds(listener: socket.socket) -> None:
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0]:
        client.sendall(b"x" * 10)
        client.sendall(b"y" * 20)
        (reading,) = (one for one in witness.connections(os.getpid(), port) if one.peer_port == port)
        # The ACK may have come on a machine that was busy for 40 ms.
        assert reading.not_sent in (0, 20)
        assert reading.last_data_sent_ms < 10_000


def test_it_follows_children(listener: socket.socket) -> None:
    process, accepted = started(
        listener, 1, sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"
    )
    try:
        assert len(witness.connections(process.pid, listener.getsockname()[1])) == 1
        assert len(witness.process_tree(process.pid)) >= 2
    finally:
        ended(process, accepted)


def test_a_process_that_is_gone() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(ProcessLookupError):
        witness.connections(process.pid, 0)


def test_the_send_queue_of_any_process_by_the_ends_of_its_connection(listener: socket.socket) -> None:
    """No descriptor of it is needed: also of another process, and through an IPv4 socket of the family IPv6."""
    diag = witness.Diag()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    process, accepted = started(listener, 1)
    try:
        found = diag.find(accepted.getpeername(), accepted.getsockname())
        assert found is not None
        assert (found.info.data_segs_out, found.info.bytes_sent, found.info.not_sent) == (3, 30, 0)
        owners = witness.Owners()
        assert owners.nodelay([process.pid], found.inode) == (process.pid, True)
        assert owners.nodelay([os.getpid()], found.inode) is None or process.pid in witness.process_tree(os.getpid())
    finally:
        ended(process, accepted)
    with socket.socket(socket.AF_INET6) as mapped:
        mapped.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        mapped.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        with listener.accept()[0] as other:
            mapped.sendall(b"x" * 10)
            mapped.sendall(b"y" * 20)
            found = diag.find(mapped.getsockname()[:2], mapped.getpeername()[:2])
            assert found is not None
            assert found.info.not_sent in (0, 20)  # the ACK may have come on a machine that was busy for 40 ms
            assert found.inode == os.fstat(mapped.fileno()).st_ino
            gone = other.getpeername(), other.getsockname()
    assert diag.find(("127.0.0.1", 1), gone[1]) is None
    diag.close()


def test_one_walk_serves_many_sockets(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[int] = []
    walk = sockets._socket_descriptors

    def counted(pid: int) -> dict[int, int]:
        walks.append(pid)
        return walk(pid)

    monkeypatch.setattr(sockets, "_socket_descriptors", counted)
    clients = [socket.create_connection(listener.getsockname()) for _ in range(20)]
    owners, inodes = witness.Owners(), [os.fstat(client.fileno()).st_ino for client in clients]
    own = [os.getpid()]
    monkeypatch.setattr(sockets, "process_tree", lambda pid: [pid])
    assert {owners.nodelay(own, inode) for inode in inodes} == {(os.getpid(), False)}
    assert walks == own
    clients[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    assert owners.nodelay(own, inodes[0]) == (os.getpid(), True)
    for client in clients:
        client.close()
    assert owners.nodelay(own, inodes[1]) is None
