"""The helpers of a topology, over real sockets: each does its task, and ends with its input."""

from __future__ import annotations

import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from onewrite_lab import stall
from onewrite_lab.servers import haproxy, relay
from onewrite_lab.servers.children import Children, script

from onewrite_bench.failures import BenchError
from onewrite_bench.topology.servers import Servers

HEAD = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n"
BODY = b"x" * 200
LINE_MS = 22


def ask(sock: socket.socket, data: bytes, until: bytes = b"{}") -> bytes:
    sock.sendall(data)
    answer = b""
    while not answer.endswith(until):
        piece = sock.recv(65536)
        assert piece, answer
        answer += piece
    return answer


def late(port: int, nodelay: bool, gap_s: float = 0.0) -> tuple[int, int]:
    """The numbers of late requests of 15 POSTs in two writes and of 15 in one, in turn, after 12 that warm up.

    `gap_s` passes between the two writes.
    """
    found = {True: 0, False: 0}
    with connect(port, nodelay) as two_writes, connect(port, nodelay) as one_write:
        for number in range(27):
            for sock, split in ((two_writes, True), (one_write, False)):
                began = time.perf_counter()
                if split:
                    sock.sendall(HEAD % b"/")
                    if gap_s:
                        time.sleep(gap_s)
                    ask(sock, BODY)
                else:
                    ask(sock, HEAD % b"/" + BODY)
                found[split] += number >= 12 and (time.perf_counter() - began) * 1000 > LINE_MS
    return found[True], found[False]


def connect(port: int, nodelay: bool = True) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))
    return sock


def test_origin_answers_requests_of_each_form(children: Children, tmp_path: Path) -> None:
    servers = Servers(children, {}, tmp_path)
    with connect(servers.port("origin/plain")) as sock:
        assert ask(sock, HEAD % b"/" + BODY).startswith(b"HTTP/1.1 200 OK\r\n")
        chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        ask(sock, chunked)
        assert b"\r\n\r\nyyyy" in ask(sock, HEAD % b"/split" + BODY, b"y" * 200)


@pytest.mark.parametrize(("name", "version"), [("tls12", "TLSv1.2"), ("tls13", "TLSv1.3")])
def test_origin_speaks_each_tls_version(children: Children, tmp_path: Path, name: str, version: str) -> None:
    servers = Servers(children, {}, tmp_path)
    context = ssl.create_default_context(cafile=str(servers.certificate_authority))
    with context.wrap_socket(connect(servers.port(f"origin/{name}")), server_hostname="localhost") as sock:
        assert sock.version() == version
        ask(sock, HEAD % b"/" + BODY)


@pytest.mark.timed
def test_haproxy_stalls_in_the_configurations_of_the_scenarios_alone(children: Children, tmp_path: Path) -> None:
    servers = Servers(children, {"haproxy": True}, tmp_path)
    stalls = {
        "default": False,
        "http-buffer-request": True,
        "mss-1460": True,
        "no-smart-accept": True,
        "mode-tcp": True,
    }

    def check(frontend: str) -> None:
        two_writes, one_write = late(servers.port(f"haproxy/{frontend}"), nodelay=False)
        assert stall.is_clean(one_write, 15), frontend
        assert stall.word(two_writes, 15) == ("stalls" if stalls[frontend] else "clean"), frontend

    with ThreadPoolExecutor() as pool:  # at the same time: a stalled request waits and uses no processor
        for result in [pool.submit(check, name) for name in stalls]:
            result.result()


@pytest.mark.timed
def test_a_relay_with_nagle_stalls_two_writes_even_with_nodelay(children: Children, tmp_path: Path) -> None:
    servers = Servers(children, {"relay": True}, tmp_path)

    # Without a gap the relay, which must wake first, may read both as one.
    two_writes, one_write = late(servers.port("relay/relay"), nodelay=True, gap_s=1e-3)
    assert stall.is_clean(one_write, 15)
    assert stall.control_stalls(two_writes, 15)


def test_forward_proxy_forwards_and_tunnels(children: Children, tmp_path: Path) -> None:
    servers = Servers(children, {"forward_proxy": True}, tmp_path)
    origin = servers.port("origin/plain")
    with connect(servers.port("relay/proxy")) as sock:
        for _ in range(2):
            ask(sock, HEAD % (b"http://127.0.0.1:%d/" % origin) + BODY)
    with connect(servers.port("relay/proxy")) as sock:
        ask(sock, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % origin, b"\r\n\r\n")
        ask(sock, HEAD % b"/" + BODY)


def test_a_helper_that_fails_says_why(children: Children) -> None:
    with pytest.raises(BenchError, match=r"relay ended before it was ready: .*--upstream-port"):
        children.start("relay", script(Path(relay.__file__), "--upstream-port", "x"))


def test_a_broken_haproxy_configuration_is_one_clear_line(children: Children, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cfg"
    broken.write_text('frontend a\n  bind "fd@${FD_A}"\n  no-such-keyword\n')
    with pytest.raises(BenchError, match="haproxy did not start: ") as caught:
        haproxy.HAProxy(children, broken, {})
    assert "\n" not in str(caught.value)


def test_a_configuration_without_a_socket_for_the_bench_is_refused(children: Children, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.cfg"
    fixed.write_text("frontend a\n  bind 127.0.0.1:1\n")
    with pytest.raises(BenchError, match="no listening socket for the bench"):
        haproxy.HAProxy(children, fixed, {})


@pytest.mark.parametrize("name", ["socat", "redir", "ncat", "ssh", "stunnel", "nginx-stream"])
def test_a_tunnel_leads_to_the_origin(name: str, children: Children, tmp_path: Path) -> None:
    try:
        servers = Servers(children, {"tunnels": [name]}, tmp_path)
    except BenchError as missing:
        pytest.skip(str(missing))
    with connect(servers.port(f"tunnel/{name}")) as sock:
        assert ask(sock, HEAD % b"/" + BODY).startswith(b"HTTP/1.1 200 OK\r\n")
