"""The witness reads another process's sockets without its help."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from onewrite_conformance import witness
from onewrite_conformance.witness import memory
from onewrite_conformance.witness.strace import PATH, REQUESTS, read_calls

pytestmark = pytest.mark.skipif(not witness.AVAILABLE, reason="needs Linux")

CLIENT = """
import socket, sys
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
for _ in range(3): sock.sendall(b"x" * 10); sock.recv(1)
print("ready", flush=True); sys.stdin.read()
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
        assert reading.options["SO_KEEPALIVE"] == 1
        assert witness.connections(process.pid, port + 1) == []
    finally:
        ended(process, accepted)


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


def test_peak_memory() -> None:
    resident = memory.reset_peak(os.getpid())
    assert resident is not None
    block = b"x" * 50_000_000
    grown = (memory.peak(os.getpid()) or 0) - resident
    assert len(block) * 0.9 < grown < len(block) * 1.5


def test_reading_strace() -> None:
    nodelay = "7 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0"
    one = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 300, 0, NULL, 0) = 300'
    head = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 100, 0, NULL, 0) = 100'
    body = '7 sendto(5, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"..., 200, 0, NULL, 0) = 200'
    vector = f'7 writev(5, [{{iov_base="POST {PATH} HTTP", iov_len=100}}, {{iov_base="xxxxxxxxxxxxxxxxxxxxxxx", iov_len=200}}], 2) = 300'
    assert list(read_calls([nodelay] + [one] * REQUESTS)) == []
    assert list(read_calls([nodelay] + [vector] * REQUESTS)) == []
    assert any("body alone" in text for text in read_calls([nodelay] + [head, body] * REQUESTS))
    assert any("never set" in text for text in read_calls([one] * REQUESTS))
    asked = '7 getsockopt(5, SOL_TCP, TCP_INFO, "\\1\\0", [232]) = 0'
    assert any("TCP_INFO" in text for text in read_calls([nodelay] + [one] * REQUESTS + [asked]))
    assert list(read_calls([asked, nodelay] + [one] * REQUESTS)) == []
    quick = "7 setsockopt(5, SOL_TCP, TCP_QUICKACK, [1], 4) = 0"
    assert any("QUICKACK" in text for text in read_calls([nodelay, quick] + [one] * REQUESTS))
