"""The network of the `wan` scenario: its round trip, its acknowledgements, and its removal."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import tries

from onewrite_bench.engines.wan import why_not
from onewrite_bench.paths import TOPOLOGY
from onewrite_bench.topology.children import Child, Children, script
from onewrite_bench.topology.network import Network

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

ASK = """
import socket, sys, time
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
times = []
for _ in range(int(sys.argv[3])):
    began = time.monotonic()
    for piece in (b"POST / HTTP/1.1\\r\\nContent-Length: 200\\r\\n\\r\\n", b"x" * 200):
        sock.sendall(piece)
    sock.recv(4096)
    times.append((time.monotonic() - began) * 1000)
print(sorted(times)[len(times) // 2])
"""


def make(children: Children, *options: str) -> tuple[Child, Network]:
    child = children.start("wan", script(TOPOLOGY / "wan.py", *options))
    far, near = child.ready["far"], child.ready["near"]
    network = Network(
        address=str(child.ready["far_address"]),
        servers=("nsenter", f"--net=/proc/{far}/ns/net"),
        clients=("nsenter", f"--net=/proc/{near}/ns/net"),
        server_namespace=f"/proc/{far}/ns/net",
    )
    return child, network


def p50_ms(children: Children, network: Network, requests: int) -> float:
    command = [*network.servers, *script(TOPOLOGY / "origin.py", "--host", network.address)]
    ports = children.start("origin", command).ready["ports"]
    assert isinstance(ports, dict)
    asked = [*network.clients, sys.executable, "-c", ASK, network.address, str(ports["plain"]), str(requests)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True)
    return float(done.stdout)


@pytest.mark.timed
def test_two_writes_cost_a_round_trip_more_over_a_distance(children: Children) -> None:
    """Nagle is on in this client: 60 ms there and back, the body waits for the head's acknowledgement."""
    _, network = make(children, "--rtt-ms", "60")

    def check() -> None:
        assert 118 < p50_ms(children, network, 9) < 260

    tries(check, 4)


@pytest.mark.timed
def test_the_emulated_timer_holds_the_acknowledgement(children: Children) -> None:
    _, network = make(children, "--rtt-ms", "0", "--peer-delack-ms", "150")

    def check() -> None:
        assert 148 < p50_ms(children, network, 15) < 300

    tries(check, 4)


def test_the_network_is_gone_with_its_processes(children: Children) -> None:
    child, _ = make(children, "--rtt-ms", "1")
    near = Path(f"/proc/{child.ready['near']}")
    far = Path(f"/proc/{child.ready['far']}")
    assert near.exists()
    child.stop()
    deadline = time.monotonic() + 60
    while (near.exists() or far.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not near.exists()
    assert not far.exists()
