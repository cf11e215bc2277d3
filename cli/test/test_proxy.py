"""The checking proxy: an unmodified program and its own server, plain and inside a CONNECT tunnel that is not decrypted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import CLIENT, check, onewrite
from peers import Server, SlowRecords, tls_server

TUNNELLED = """
import os, socket, ssl, sys, time
from urllib.parse import urlsplit
name, port, ca_file, faults = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
proxy = urlsplit(os.environ["HTTPS_PROXY"])
raw = socket.create_connection((proxy.hostname, proxy.port), timeout=10)
raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, "nagle" not in faults)
raw.sendall(f"CONNECT {name}:{port} HTTP/1.1\\r\\nHost: {name}:{port}\\r\\n\\r\\n".encode())
assert raw.recv(4096).startswith(b"HTTP/1.1 200")
context = ssl.create_default_context(cafile=ca_file)
if "1.2" in faults:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
if "h2" in faults:
    context.set_alpn_protocols(["h2", "http/1.1"])
sock = context.wrap_socket(raw, server_hostname=name)
head = f"POST / HTTP/1.1\\r\\nHost: {name}\\r\\nContent-Length: 200\\r\\n\\r\\n".encode()
for nth in range(20):
    pause_s = 0.06 if "slow" in faults and nth == 0 else 0
    time.sleep(pause_s)
    if "split" in faults:
        sock.sendall(head)
        time.sleep(pause_s)
        sock.sendall(b"x" * 200)
    else:
        sock.sendall(head + b"x" * 200)
    answer = b""
    while not answer.endswith(b"ok\\n"):
        answer += sock.recv(4096)
"""


ONE_EACH = """
import os, socket, ssl, sys
from urllib.parse import urlsplit
name, port, ca_file, faults = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
proxy = urlsplit(os.environ["HTTPS_PROXY"])
context = ssl.create_default_context(cafile=ca_file)
if "1.2" in faults:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
session = None
for _ in range(20):
    raw = socket.create_connection((proxy.hostname, proxy.port), timeout=10)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, "nagle" not in faults)
    raw.sendall(f"CONNECT {name}:{port} HTTP/1.1\\r\\nHost: {name}:{port}\\r\\n\\r\\n".encode())
    assert raw.recv(4096).startswith(b"HTTP/1.1 200")
    sock = context.wrap_socket(raw, server_hostname=name, session=session)
    head = f"POST / HTTP/1.1\\r\\nHost: {name}\\r\\nContent-Length: 200\\r\\n\\r\\n".encode()
    if "split" in faults:
        sock.sendall(head)
        sock.sendall(b"x" * 200)
    else:
        sock.sendall(head + b"x" * 200)
    answer = b""
    while not answer.endswith(b"ok\\n"):
        answer += sock.recv(4096)
    session = sock.session if "1.2" in faults else None
    sock.close()
"""


@pytest.mark.timed
@pytest.mark.parametrize("faults", ["nagle", "split,nagle"])
def test_a_request_that_waits_behind_the_finished_is_a_stall(faults: str, tmp_path: Path) -> None:
    """A server without session tickets acknowledges the client's Finished late: the second small write waits for that."""
    server, ca_file = tls_server(tmp_path)
    assert server.tls is not None
    server.tls.num_tickets = 0
    command = (sys.executable, "-c", ONE_EACH, "127.0.0.1", str(server.port), ca_file)
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command, faults)
    server.close()
    assert (done.data["requests"], done.data["connections"], done.data["problem"]) == (20, 20, None)
    assert (done.states["OW102"], done.states["OW105"]) == ("found", "found"), done.out


@pytest.mark.parametrize("faults", ["", "1.2"])
def test_a_connection_per_request_is_counted_from_the_first(faults: str, tmp_path: Path) -> None:
    """Also where a session of TLS 1.2 is resumed, in which the client's Finished comes last."""
    server, ca_file = tls_server(tmp_path)
    command = (sys.executable, "-c", ONE_EACH, "127.0.0.1", str(server.port), ca_file, faults)
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command)
    server.close()
    assert (done.data["requests"], done.data["connections"], done.data["problem"]) == (20, 20, None)
    assert "found" not in done.states.values(), done.out
    assert done.states["OW102"] == done.states["OW103"] == "ok"


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


@pytest.mark.timed
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_tunnel_is_counted_without_being_opened(version: str, tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path)
    command = (sys.executable, "-c", TUNNELLED, "127.0.0.1", str(server.port), ca_file)
    split = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command, f"split,nagle,{version}")
    single = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command, version)
    server.close()
    assert {rule for rule, state in split.states.items() if state == "found"} == {"OW101", "OW102", "OW103", "OW105"}
    assert split.finding("OW103")["detail"] == "records per request: 2 in 20"
    assert split.data["requests"] == single.data["requests"] == 20
    assert {rule for rule, state in single.states.items() if state == "ok"} >= {"OW101", "OW102", "OW103", "OW105"}


def test_session_tickets_that_come_in_a_request_are_no_answer(tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path)
    relay = SlowRecords(server.port, 0.04)
    command = (sys.executable, "-c", TUNNELLED, "127.0.0.1", str(relay.port), ca_file, "split,slow")
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command)
    relay.close()
    server.close()
    assert done.finding("OW103")["detail"] == "records per request: 2 in 20"


def test_http2_inside_a_tunnel_is_not_judged(tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path)
    command = (sys.executable, "-c", TUNNELLED, "127.0.0.1", str(server.port), ca_file, "h2,split")
    done = onewrite("check", "--strict", "-f", "json", "--proxy", "--", *command)
    server.close()
    assert done.states["OW101"] == done.states["OW103"] == "skipped"
    assert "HTTP/2" in done.finding("OW101")["detail"]


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
