"""The checking proxy: an unmodified program and its own server, plain and inside a CONNECT tunnel that is not decrypted."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import CLIENT, check, conclusive, onewrite
from peers import ANSWER, Listener, Server, tls_server

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
    clean = check("proxy", "--proxy", url=url)
    server.close()
    assert clean.status == 0
    assert clean.data["requests"] == 20
    assert len(server.heads) == 20
    assert server.heads[0].startswith(b"POST /0 HTTP/1.1\r\n")
    assert "proxy" in clean.data["witness"]
    assert f"20 requests went on to 127.0.0.1:{server.port}, which has acted on them" in clean.data["notes"]


def test_a_host_that_cannot_be_reached_is_inconclusive_and_no_finding() -> None:
    done = check("proxy", "--proxy", "--timeout", "10", url="http://nowhere.invalid/")
    assert done.status == 2
    assert "the proxy could not reach nowhere.invalid:80" in done.data["problem"]


@pytest.mark.timed
def test_a_stall_that_only_the_tools_proxy_shows_is_not_the_programs() -> None:
    """As of a library that loses TCP_NODELAY through any proxy. Where the environment names one, it is the program's."""
    server, program = Server(), (*CLIENT, "proxy,split,nagle")
    url = f"http://127.0.0.1:{server.port}/"
    ours = conclusive(
        lambda: onewrite("check", "--strict", "--rule", "split-write=off", "-f", "json", "--proxy", "--", *program, url)
    )
    assert (ours.status, ours.states["OW105"], ours.states["OW102"]) == (2, "inconclusive", "warned"), ours.out
    assert "Your environment names none" in ours.finding("OW105")["detail"]
    theirs = conclusive(
        lambda: onewrite(
            "check", "-f", "json", "--proxy", "--", *program, url, env={"http_proxy": f"http://127.0.0.1:{server.port}"}
        )
    )
    server.close()
    assert (theirs.status, theirs.states["OW105"]) == (1, "found"), theirs.out
    assert theirs.data["headline"].startswith("STALLS through a proxy: ")


@pytest.mark.parametrize("past", [False, True])
def test_the_users_own_proxy_is_gone_through_and_its_exceptions_are_not(past: bool) -> None:
    corporate, service = Server(), Server()
    env = {"HTTP_PROXY": corporate.url.replace("http://", "http://me:hush@"), "NO_PROXY": "127.0.0.1" if past else ""}
    url = service.url if past else "http://service.internal/"
    done = check("proxy", "--proxy", "--requests", "5", url=url, arguments=("--requests", "5"), env=env)
    for server in (corporate, service):
        server.close()
    assert (done.data["problem"], len(corporate.heads), len(service.heads)) == (None, 0 if past else 5, 5 if past else 0)
    if not past:
        assert corporate.heads[0].startswith(b"POST http://service.internal/0 HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic bWU6aHVzaA==" in corporate.heads[0]
    assert "hush" not in done.out


def test_a_tunnel_goes_through_the_users_own_proxy() -> None:
    heads: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        with sock:
            heads.append(sock.recv(4096))
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    corporate = Listener(serve)
    program = (
        "import http.client, os; from urllib.parse import urlsplit as u\n"
        "p = u(os.environ['HTTPS_PROXY']); c = http.client.HTTPConnection(p.hostname, p.port)\n"
        "c.request('CONNECT', 'service.internal:443'); print(c.getresponse().status)"
    )
    env = {"HTTPS_PROXY": f"http://me:hush@127.0.0.1:{corporate.port}"}
    done = onewrite("check", "--proxy", "-v", "--", sys.executable, "-c", program, env=env)
    corporate.close()
    assert "407" in done.err
    assert heads[0].startswith(b"CONNECT service.internal:443 HTTP/1.1\r\nProxy-Authorization: Basic bWU6aHVzaA==\r\n")


LOGIN = """
import http.client, os, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["http_proxy"])
there = http.client.HTTPConnection(proxy.hostname, proxy.port)
for _ in range(3):
    there.request("GET", sys.argv[1])
    last = there.getresponse().read()
print("CONNECTION", last.decode(), file=sys.stderr)
"""


def test_each_client_connection_has_one_upstream_connection() -> None:
    """A login may belong to it (NTLM, Negotiate)."""

    def serve(sock: socket.socket) -> None:
        count = 0
        with sock:
            while sock.recv(4096):
                count += 1
                sock.sendall(ANSWER + b"%03d" % count)

    listener = Listener(serve)
    url = f"http://127.0.0.1:{listener.port}/"
    done = onewrite("check", "--proxy", "-v", "--requests", "3", "--", sys.executable, "-c", LOGIN, url)
    listener.close()
    assert "CONNECTION 003" in done.err, done.err


DUPLEX = """
import os, socket, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["http_proxy"])
sock = socket.create_connection((proxy.hostname, proxy.port), timeout=10)
sock.sendall(f"POST {sys.argv[1]} HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n".encode())
for letter in (b"x", b"y", b"z"):
    sock.sendall(b"1\\r\\n" + letter + b"\\r\\n")
    answer = b""
    while letter not in answer:
        answer += sock.recv(4096)
    print("GOT", answer[-1:].decode(), file=sys.stderr)
sock.sendall(b"0\\r\\n\\r\\n")
"""


def test_an_answer_may_come_before_the_request_is_whole() -> None:
    def serve(sock: socket.socket) -> None:
        with sock:
            received = b""
            while b"\r\n\r\n" not in received:
                received += sock.recv(4096)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            for letter in (b"x", b"y", b"z"):
                while letter + b"\r\n" not in received:
                    received += sock.recv(4096)
                sock.sendall(letter)
            while sock.recv(4096):
                pass

    listener = Listener(serve)
    url = f"http://127.0.0.1:{listener.port}/"
    done = onewrite("check", "--proxy", "-v", "--requests", "1", "--", sys.executable, "-c", DUPLEX, url)
    listener.close()
    assert [line for line in done.err.splitlines() if line.startswith("GOT")] == ["GOT x", "GOT y", "GOT z"], done.err


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


@pytest.mark.parametrize(("past", "then"), [("internal", "internal,127.0.0.1"), ("*", "*")])
def test_a_direct_check_goes_past_the_users_proxy(past: str, then: str) -> None:
    program = "import os, urllib.request as r, sys; r.urlopen(sys.argv[1], b'x').read(); print(os.environ['NO_PROXY'])"
    env = {"HTTP_PROXY": "http://127.0.0.9:1", "NO_PROXY": past}
    done = onewrite("check", "-v", "-f", "json", "--requests", "1", "--", sys.executable, "-c", program, "{url}", env=env)
    assert (done.data["problem"], done.data["requests"]) == (None, 1), done.out
    assert then in done.err.splitlines()
