"""The checking proxy: an unmodified program and its own server, plain and inside a CONNECT tunnel that is not decrypted."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import CLIENT, check, onewrite
from peers import Listener, Server, tls_server

TUNNELLED = """
import os, socket, ssl, sys
from urllib.parse import urlsplit
name, port, ca_file, faults = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
proxy = urlsplit(os.environ["HTTPS_PROXY"])
raw = socket.create_connection((proxy.hostname, proxy.port), timeout=10)
raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, "nagle" not in faults)
raw.sendall(f"CONNECT {name}:{port} HTTP/1.1\\r\\nHost: {name}:{port}\\r\\n\\r\\n".encode())
assert raw.recv(4096).startswith(b"HTTP/1.1 200")
context = ssl.create_default_context(cafile=ca_file)
sock = context.wrap_socket(raw, server_hostname=name)
head = f"POST / HTTP/1.1\\r\\nHost: {name}\\r\\nContent-Length: 200\\r\\n\\r\\n".encode()
for _ in range(20):
    if "split" in faults:
        sock.sendall(head)
        sock.sendall(b"x" * 200)
    else:
        sock.sendall(head + b"x" * 200)
    answer = b""
    while not answer.endswith(b"ok\\n"):
        answer += sock.recv(4096)
"""


@pytest.mark.timed
def test_a_program_and_its_own_server() -> None:
    server = Server()
    url = f"http://127.0.0.1:{server.port}/"
    assert check("proxy,split,nagle", "--proxy", url=url).states["OW105"] == "found"
    clean = check("proxy", "--proxy", url=url)
    server.close()
    assert clean.status == 0
    assert clean.data["requests"] == 20
    assert len(server.heads) == 40
    assert server.heads[0].startswith(b"POST /0 HTTP/1.1\r\n")
    assert "proxy" in clean.data["witness"]
    assert f"20 requests were forwarded to 127.0.0.1:{server.port}, which has acted on them" in clean.data["notes"]


def test_a_host_that_cannot_be_reached_is_inconclusive_and_no_finding() -> None:
    done = check("proxy", "--proxy", "--timeout", "10", url="http://nowhere.invalid/")
    assert done.status == 2
    assert "the proxy could not reach nowhere.invalid:80" in done.data["problem"]


def test_the_proxy_of_the_environment_is_not_used_and_that_is_said() -> None:
    program = (*CLIENT, "proxy", "http://check.onewrite.test/")
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *program, env={"HTTP_PROXY": "http://127.0.0.1:1/"})
    assert done.data["requests"] == 20
    assert any("the proxy of your environment was not used" in note for note in done.data["notes"])


@pytest.mark.parametrize(("faults", "word"), [("nagle,split", "WARNED"), ("", "CLEAN as far as it could be judged")])
def test_a_tunnel_is_passed_on_undecrypted(faults: str, word: str, tmp_path: Path) -> None:
    """Of its requests nothing is said, neither that they are clean."""
    server, ca_file = tls_server(tmp_path)
    command = (sys.executable, "-c", TUNNELLED, "127.0.0.1", str(server.port), ca_file, faults)
    done = onewrite("check", "-f", "json", "--proxy", "--", *command)
    server.close()
    assert (done.status, done.data["problem"], done.data["connections"]) == (0, None, 1)
    assert done.data["headline"].startswith(word)
    assert "Not judged: OW101, OW103, OW105" in done.data["headline"]
    assert done.states["OW102"] == ("warned" if faults else "ok")
    assert "decrypts no TLS of others: write {https_url}" in done.finding("OW101")["detail"]
    assert f"1 TLS connection to 127.0.0.1:{server.port}" in done.data["notes"][0]


BOTH_WAYS = """
import os, socket, sys, threading
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTPS_PROXY"])
sock = socket.create_connection((proxy.hostname, proxy.port), timeout=20)
sock.sendall(f"CONNECT 127.0.0.1:{sys.argv[1]} HTTP/1.1\\r\\n\\r\\n".encode())
assert sock.recv(4096).startswith(b"HTTP/1.1 200")
sock.sendall(bytes(1 << 24))
sock.shutdown(socket.SHUT_WR)
got = 0
while data := sock.recv(65536):
    got += len(data)
assert got == 1 << 24, got
"""


def test_a_tunnel_passes_bytes_both_ways_at_once() -> None:
    """Neither side reads before all is written, and one ends before the other."""
    came: list[int] = []

    def serve(sock: socket.socket) -> None:
        with sock:
            sender = threading.Thread(target=sock.sendall, args=(bytes(1 << 24),))
            time.sleep(0.2)
            sender.start()
            came.append(sum(len(data) for data in iter(lambda: sock.recv(65536), b"")))
            sender.join()

    listener = Listener(serve)
    done = onewrite("check", "-f", "json", "--proxy", "--", sys.executable, "-c", BOTH_WAYS, str(listener.port))
    listener.close()
    assert (done.data["problem"], came) == (None, [1 << 24])


def test_the_tools_own_name_inside_a_tunnel_is_opened() -> None:
    given = '"check.onewrite.test", 443, os.environ["SSL_CERT_FILE"], "split"'
    program = TUNNELLED.replace("sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]", given)
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--tls", "--", sys.executable, "-c", program)
    assert done.states["OW103"] == "found"
    assert "POST /" in done.finding("OW101")["examples"][0]


def test_what_does_not_follow_the_proxy_is_inconclusive() -> None:
    server = Server()
    done = check("none", "--proxy", url=f"http://127.0.0.1:{server.port}/")
    server.close()
    assert done.status == 2
    assert "no connection came to the proxy" in done.data["problem"]
