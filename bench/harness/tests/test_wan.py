"""The network of the `wan` scenario: its round trip, its acknowledgements, and its removal."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from onewrite_lab.servers.children import Child, Children, script
from onewrite_lab.servers.network import Network

from onewrite_bench.engines.wan import why_not
from onewrite_bench.paths import TOPOLOGY

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

HEAD, BODY = b"POST / HTTP/1.1\r\nContent-Length: 200\r\n\r\n", b"x" * 200
ASK = f"""
import json, socket, sys, time
address = sys.argv[1], int(sys.argv[2])
two_writes, one_write = (socket.create_connection(address, timeout=10) for _ in range(2))
pairs = []
for _ in range(int(sys.argv[3])):
    pair = []
    for sock, pieces in ((two_writes, {(HEAD, BODY)!r}), (one_write, {(HEAD + BODY,)!r})):
        began = time.monotonic()
        for piece in pieces:
            sock.sendall(piece)
        sock.recv(4096)
        pair.append((time.monotonic() - began) * 1000)
    pairs.append(pair)
print(json.dumps(pairs))
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


def pairs_ms(children: Children, network: Network, count: int) -> list[tuple[float, float]]:
    """Pairs of times: a POST in two writes with Nagle on, then a POST in one write."""
    command = [*network.servers, *script(TOPOLOGY / "origin.py", "--host", network.address)]
    ports = children.start("origin", command).ready["ports"]
    assert isinstance(ports, dict)
    asked = [*network.clients, sys.executable, "-c", ASK, network.address, str(ports["plain"]), str(count)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True)
    return [(two_writes, one_write) for two_writes, one_write in json.loads(done.stdout)]


@pytest.mark.timed
def test_two_writes_cost_a_round_trip_more_over_a_distance(children: Children) -> None:
    """Nagle is on in this client: the body waits for the head's acknowledgement, 60 ms and perhaps a delay of 40 ms."""
    _, network = make(children, "--rtt-ms", "60")
    pairs = pairs_ms(children, network, 9)
    assert min(one_write for _, one_write in pairs) > 59
    assert 45 < median(two_writes - one_write for two_writes, one_write in pairs) < 150


@pytest.mark.timed
def test_the_emulated_timer_holds_the_acknowledgement(children: Children) -> None:
    _, network = make(children, "--rtt-ms", "0", "--peer-delack-ms", "150")
    pairs = pairs_ms(children, network, 15)
    assert min(two_writes for two_writes, _ in pairs) > 148
    assert 110 < median(two_writes - one_write for two_writes, one_write in pairs) < 225


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
