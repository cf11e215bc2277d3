"""The lab's account of a connection against `ss`, which shares no code with it.

All other parts take TCP_INFO from the lab's one table of offsets. A wrong offset there would be wrong everywhere alike.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest

from onewrite_lab.tap.channel import drop_incoming, restore_incoming
from onewrite_lab.witness import tcpinfo

needs_ss = pytest.mark.skipif(not shutil.which("ss") or not tcpinfo.AVAILABLE, reason="needs ss of iproute2")

# Each field of the lab's table: how ss prints it, its unit in the lab's, and the last digit that ss prints.
SS: dict[str, tuple[str, float, float]] = {
    "last_data_sent_ms": (r"\blastsnd:(\d+)", 1, 1),
    "last_ack_recv_ms": (r"\blastack:(\d+)", 1, 1),
    "rtt_us": (r"\brtt:([\d.]+)/", 1000, 1),
    "min_rtt_us": (r"\bminrtt:([\d.]+)", 1000, 1),
    "total_retrans": (r"\bretrans:\d+/(\d+)", 1, 1),
    "bytes_received": (r"\bbytes_received:(\d+)", 1, 1),
    "bytes_sent": (r"\bbytes_sent:(\d+)", 1, 1),
    "not_sent": (r"\bnotsent:(\d+)", 1, 1),
    "data_segs_in": (r"\bdata_segs_in:(\d+)", 1, 1),
    "data_segs_out": (r"\bdata_segs_out:(\d+)", 1, 1),
    "rwnd_limited_us": (r"\brwnd_limited:(\d+)ms", 1000, 1000),
    "mss": (r"\bmss:(\d+)", 1, 1),
    "unacked": (r"\bunacked:(\d+)", 1, 1),
}
#: A field that changes between two readings of the lab is read again.
TRIES = 20


def by_ss(sock: socket.socket) -> dict[str, float]:
    """What ss prints of one connection; it leaves out what is 0."""
    own, peer = sock.getsockname()[1], sock.getpeername()[1]
    command = ["ss", "-tinOH", f"( sport = :{own} and dport = :{peer} )"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {name: re.search(pattern, text) for name, (pattern, *_) in SS.items()}
    return {name: float(match[1]) * SS[name][1] for name, match in found.items() if match}


def agreed(sock: socket.socket, names: set[str]) -> set[str]:
    """Those of the fields that are not 0 and for which ss says what the lab says, before it or after it."""
    agree: set[str] = set()
    for _ in range(TRIES):
        before = asdict(tcpinfo.read(sock))  # type: ignore[arg-type]
        ss = by_ss(sock)
        after = asdict(tcpinfo.read(sock))  # type: ignore[arg-type]
        for name in names - agree:
            low, high = sorted((before[name], after[name]))
            if high > 0 and name in ss and low - SS[name][2] < ss[name] < high + SS[name][2]:
                agree.add(name)
        if agree == names:
            break
    return agree


@contextlib.contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with socket.create_connection(listener.getsockname()) as client:
            server, _ = listener.accept()
            with server:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield client, server


def talk(client: socket.socket, server: socket.socket) -> None:
    """7 segments of 11 bytes one way, 5 of 3 bytes the other way: no two counters are alike."""
    for turn in range(7):
        if turn == 6:
            time.sleep(0.05)  # between the last data and the last ACK that come back
        client.sendall(b"x" * 11)
        server.recv(100)
        if turn < 5:
            server.sendall(b"y" * 3)
            client.recv(100)


def after_talk(client: socket.socket, server: socket.socket) -> None:
    talk(client, server)
    time.sleep(0.3)  # so that the times since the last segment and the last ACK are not 0


def after_loss(client: socket.socket, server: socket.socket) -> None:
    talk(client, server)
    drop_incoming(server)
    client.sendall(b"x" * 11)
    time.sleep(0.1)
    restore_incoming(server)
    server.settimeout(10)
    server.recv(100)  # it comes a second time


def unanswered(client: socket.socket, server: socket.socket) -> None:
    talk(client, server)
    drop_incoming(server)
    client.sendall(b"x" * 11)
    time.sleep(0.05)


def with_a_closed_window(client: socket.socket, server: socket.socket) -> None:
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            client.send(b"x" * 65536)
    time.sleep(0.1)


SCENES: list[tuple[Callable[[socket.socket, socket.socket], None], set[str]]] = [
    (after_talk, {"last_data_sent_ms", "last_ack_recv_ms", "rtt_us", "min_rtt_us", "bytes_received", "bytes_sent"}),
    (after_talk, {"data_segs_in", "data_segs_out"}),
    (after_loss, {"total_retrans"}),
    (unanswered, {"mss", "unacked"}),
    (with_a_closed_window, {"not_sent", "rwnd_limited_us"}),
]


@needs_ss
@pytest.mark.parametrize(("scene", "names"), SCENES)
def test_ss_says_the_same(scene: Callable[[socket.socket, socket.socket], None], names: set[str]) -> None:
    with pair() as (client, server):
        scene(client, server)
        assert agreed(client, names) == names


def test_every_field_is_compared() -> None:
    compared = {name for _, names in SCENES for name in names}
    assert compared == set(SS) == set(tcpinfo.TcpInfo.__dataclass_fields__)
