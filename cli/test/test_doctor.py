"""The doctor's verdict about every kind of peer: a few runs here, 20 of each in `make thorough`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, onewrite, run
from peers import Listener, Peer, ReadsOnce, Server, behind, dead_port, haproxy, nagle_relay, nginx, origin, tls_server

SAMPLES = "10"
ROOT = Path(__file__).resolve().parents[2]


def doctor(url: str, *options: str, **keywords: Any) -> Done:
    return onewrite("doctor", url, "-f", "json", "--samples", SAMPLES, *options, **keywords)


@dataclass(frozen=True)
class Case:
    """`words` are those of the findings; none is safe."""

    name: str
    peer: Peer
    words: tuple[str, ...]
    method: tuple[str, ...] = ("--post-bytes", "200")


CASES = (
    Case("a direct origin", origin, ("EXPOSED",)),
    Case("a direct origin, GET", origin, ("EXPOSED",), method=("--get",)),
    Case("an origin that acknowledges at once", lambda: origin(quick=True), ()),
    Case("an origin that splits its answer", lambda: origin(split=True), ("EXPOSED", "SPLIT ANSWER")),
    Case("one that splits and acknowledges at once", lambda: origin(split=True, quick=True), ("SPLIT ANSWER",)),
    Case("HAProxy as it comes", lambda: behind(haproxy), ()),
    Case("HAProxy, http-buffer-request", lambda: behind(lambda p: haproxy(p, "option http-buffer-request")), ("EXPOSED",)),
    Case("HAProxy, no tcp-smart-accept", lambda: behind(lambda p: haproxy(p, "no option tcp-smart-accept")), ("EXPOSED",)),
    Case("HAProxy before an origin that splits", lambda: behind(haproxy, split=True), ()),
    Case("nginx", lambda: behind(nginx), ("EXPOSED",)),
    Case("a relay with Nagle on", nagle_relay, ("RELAY",)),
    Case("a relay with Nagle on, late ACKs", lambda: nagle_relay(quick=False), ("RELAY", "EXPOSED")),
)


def concluded(run: Callable[[], Done], is_true: Callable[[dict[str, Any]], bool] = lambda data: True) -> Done:
    """A run of the doctor, repeated at most twice where a busy machine left no verdict, or made the network late."""
    for _ in range(3):
        done = run()
        if done.data["verdict"] != "unknown" and is_true(done.data):
            break
    return done


def examine(case: Case, samples: str = SAMPLES) -> dict[str, Any]:
    with case.peer() as url:
        done = concluded(lambda: doctor(url, *case.method, "--samples", samples))
    data = done.data
    told = json.dumps(data, indent=1)
    assert [one["word"] for one in data["findings"]] == list(case.words), told
    assert done.status == bool(case.words), told
    return data


@pytest.mark.timed
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict(case: Case) -> None:
    data = examine(case)
    assert data["statuses"] == {"200": data["requests"]}
    assert data["keep_alive"] is True
    arm = data["arms"]["split_nagle"]
    if "EXPOSED" in case.words and "RELAY" not in case.words:
        assert arm["cause"] == "nagle_delayed_ack"
        assert arm["held_bytes"] > 0
        # How long the kernel held the bytes explains the time that was lost.
        assert arm["held_ms"] > data["control"]["split_ms"] / 4


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_twenty_of_twenty(case: Case) -> None:
    for _ in range(20):
        examine(case, "30")


def test_a_dead_port() -> None:
    with dead_port() as port:
        done = doctor(f"http://127.0.0.1:{port}/")
    assert done.status == 3
    assert "Connection refused" in done.err
    assert "Traceback" not in done.err


def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path, "elsewhere.example")
    done = doctor(server.url, "--ca-file", ca_file)
    server.close()
    assert done.status == 3
    assert "not trusted" in done.err
    assert "127.0.0.1" in done.err


@pytest.mark.timed
def test_over_tls(tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path)
    done = doctor(server.url, "--ca-file", ca_file, "--post-bytes", "200")
    assert (done.status, done.data["verdict"]) == (1, "EXPOSED")
    untrusted = doctor(server.url)
    server.close()
    assert untrusted.status == 3
    assert "not trusted" in untrusted.err


def test_a_server_that_closes_each_connection() -> None:
    with origin(close=True) as url:
        data = doctor(url).data
    assert data["keep_alive"] is False
    assert any("closes every connection" in note for note in data["notes"])


@pytest.mark.parametrize(
    "status",
    ["401 Unauthorized", "405 Method Not Allowed", "407 Proxy Authentication Required", "429 Too Many Requests",
     "503 Service Unavailable"],
)  # fmt: skip
def test_it_stops_at_a_refusal(status: str) -> None:
    server = Server(status=status.encode())
    data = doctor(server.url, "--post-bytes", "200").data
    server.close()
    assert (data["verdict"], data["exit_status"]) == ("unknown", 2)
    number, word = status.split(" ", 1)
    assert (data["statuses"], data["requests"], len(server.heads)) == ({number: 1}, 1, 1)
    assert f"{number} ({word})" in data["headline"]


def test_it_stops_when_the_server_has_had_enough() -> None:
    class Limited(Server):
        def _one_request(self, sock: socket.socket) -> bool:
            if len(self.heads) == 4:
                self.head = self.head.replace(b"200 OK", b"429 Too Many Requests")
            return super()._one_request(sock)

    server = Limited()
    done = doctor(server.url, "--post-bytes", "200")
    server.close()
    assert (done.status, done.data["verdict"]) == (2, "unknown")
    assert "429 (Too Many Requests)" in done.data["headline"]
    assert len(server.heads) <= 6


def test_the_body_may_come_from_stdin() -> None:
    server = Server()
    done = onewrite("doctor", server.url, "--post", "-", "--samples", "5", stdin="twelve bytes")
    server.close()
    assert "Content-Length: 12" in server.heads[0].decode()
    assert "body of 12 bytes" in done.err


@pytest.mark.parametrize(("reset", "lucky"), [(False, 0), (True, 0), (True, 4)])
def test_a_server_that_refuses_a_split_request_is_a_finding(reset: bool, lucky: int) -> None:
    server = ReadsOnce(reset=reset, lucky=lucky)
    done = doctor(server.url, "--post-bytes", "200")
    server.close()
    assert (done.status, done.data["verdict"]) == (1, "REFUSES SPLIT"), done.out
    assert "refuses it in two" in done.data["headline"]
    assert done.data["arms"]["one_write"]["refused"] == 0


def test_a_tls_port_asked_in_clear_is_not_safe(tmp_path: Path) -> None:
    server, _ = tls_server(tmp_path)
    done = doctor(server.url.replace("https", "http"), "--timeout", "5")
    server.close()
    assert done.status == 3


def test_a_clear_port_asked_over_tls_is_not_called_closed() -> None:
    with origin() as url:
        done = doctor(url.replace("http", "https"), "--timeout", "1")
    assert done.status == 3
    assert "onewrite: no connection to 127.0.0.1:" in done.err
    assert "handshake" in done.err


def test_an_answer_without_end_is_given_up() -> None:
    def events(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            while True:
                sock.sendall(b"data: 1\n\n")
                time.sleep(0.1)

    listener = Listener(events)
    before = time.monotonic()
    done = doctor(f"http://127.0.0.1:{listener.port}/", "--timeout", "2")
    listener.close()
    assert done.status == 3
    assert "--stream" in done.err
    assert time.monotonic() - before < 60  # it went on for ever


def test_a_server_that_speaks_first_is_given_up_at_once() -> None:
    hung = threading.Event()

    def greet(sock: socket.socket) -> None:
        with sock:
            sock.sendall(b"220 mail.example ESMTP\r\n")
            hung.wait()

    listener = Listener(greet)
    done = doctor(f"http://127.0.0.1:{listener.port}/", "--timeout", "90", timeout=60)
    hung.set()
    listener.close()
    assert done.status == 3
    assert "not an HTTP/1.1 answer" in done.err


def test_credentials_of_the_url_are_sent() -> None:
    server = Server()
    doctor(server.url.replace("127.0.0.1", "me:se%20cret@127.0.0.1"), "--samples", "5")
    assert b"Authorization: Basic bWU6c2UgY3JldA==" in server.heads[0]
    assert b"@" not in server.heads[0]
    server.heads.clear()
    second = doctor(server.url, "--header", "Host: elsewhere")
    server.close()
    assert (second.status, server.heads) == (3, [])


def test_what_is_sent_is_what_was_chosen(tmp_path: Path) -> None:
    body = tmp_path / "order.json"
    body.write_text('{"order": 1}')
    server = Server()
    done = doctor(
        server.url + "orders?x=1", "--post", str(body), "--header", "Content-Type: application/json", "--header", "X-A: b"
    )
    server.close()
    head = server.heads[0].decode()
    assert head.startswith("POST /orders?x=1 HTTP/1.1\r\n")
    assert "Content-Type: application/json" in head
    assert "application/octet-stream" not in head
    assert "X-A: b" in head
    assert "User-Agent: onewrite-doctor/" in head
    assert done.data["requests"] == len(server.heads) == (9 + 10 + 4) * 4 + 1
    assert f"will send {(9 + 10 + 4) * 4 + 1} POST requests with a body of 12 bytes to" in done.err


@pytest.mark.timed
def test_a_proxy_is_the_first_hop() -> None:
    server = Server()
    for how, env in ((("--proxy", server.url), {}), ((), {"HTTP_PROXY": server.url})):
        done = doctor("http://localhost:1/there", "--post-bytes", "200", *how, env=env)
        assert done.data["verdict"] == "EXPOSED"
        assert done.data["first_hop"].startswith("the proxy 127.0.0.1")
        assert server.heads[-1].startswith(b"POST http://localhost:1/there HTTP/1.1")
    refused = doctor("http://localhost:1/there", "--proxy", "none", env={"HTTP_PROXY": server.url})
    assert refused.status == 3
    server.close()


@pytest.mark.parametrize(
    ("name", "goes"),
    [("http_proxy", True), ("ALL_PROXY", True), ("https_proxy", False)],
)
def test_each_proxy_of_the_environment_is_gone_through(name: str, goes: bool) -> None:
    server = Server()
    named = server.url.replace("http://", "http://me:hush@")
    done = doctor("http://127.0.0.9:1/there", "--samples", "5", env={name: named})
    assert (done.status != 3, bool(server.heads)) == (goes, goes)
    if goes:
        assert b"Proxy-Authorization: Basic bWU6aHVzaA==" in server.heads[0]
        assert any("goes through a proxy" in note for note in done.data["notes"])
    past = doctor(server.url, "--samples", "5", env={name: "http://127.0.0.9:1", "NO_PROXY": "127.0.0.1"})
    server.close()
    assert past.data["first_hop"] == f"127.0.0.1:{server.port}"
    assert "hush" not in done.out + done.err


@pytest.mark.parametrize("url", ["socks5://me:hush@127.0.0.1:1", "http://me:hush@127.0.0.1:99999", "http://me:hu/sh@h@:x"])
def test_a_proxy_of_another_kind_is_refused_without_its_password(url: str) -> None:
    done = doctor("http://127.0.0.9:1/", env={"ALL_PROXY": url})
    assert (done.status, "hush" in done.err, "hu/sh" in done.err) == (3, False, False), done.err


def test_it_asks_before_it_sends_to_others() -> None:
    # 192.0.2.1 is for documentation (RFC 5737). Nothing is sent to it.
    done = doctor("http://192.0.2.1/")
    assert done.status == 3
    assert "say --yes" in done.err
    assert "will send" in done.err


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "127.0.0.1",
        "http://",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:99999/",
        "http://a b/",
        "http://nowhere.invalid/",
    ],
)
def test_invalid_urls_are_refused(url: str) -> None:
    done = doctor(url)
    assert done.status == 3
    assert "Traceback" not in done.err


@contextmanager
def distance(rtt_ms: int) -> Iterator[tuple[list[str], list[str], str]]:
    """Two network namespaces with this round trip: (prefix of the client's command, of the server's, the server's address)."""
    if os.geteuid() != 0 or sys.platform != "linux" or not Path("/dev/net/tun").exists() or shutil.which("nsenter") is None:
        pytest.skip("network namespaces need Linux, root and /dev/net/tun")
    script = ROOT / "bench" / "topology" / "wan.py"
    child = subprocess.Popen(
        [sys.executable, str(script), "--rtt-ms", str(rtt_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        ready = json.loads(child.stdout.readline() or "null")
        if ready is None:
            pytest.skip("the namespaces could not be made")
        enter = [["nsenter", f"--net=/proc/{ready[side]}/ns/net"] for side in ("near", "far")]
        yield enter[0], enter[1], ready["far_address"]
    finally:
        child.communicate(timeout=10)


FAR_SERVER = """
import sys; sys.path.insert(0, sys.argv[1])
from peers import Server
import time
server = Server(quick=sys.argv[3] == "quick", host=sys.argv[2])
print(server.port, flush=True)
sys.stdin.read()
"""


def acks_late(data: dict[str, Any]) -> bool:
    """A delayed ACK adds its time to the round trip; half of the control's stall is the line."""
    return bool((data["ack_delay_ms"] or 0) > data["control"]["split_ms"] / 2)


def far_away(kind: str) -> None:
    """60 ms away a split request is exposed whatever the peer's ACKs: it loses a round trip at least."""
    with distance(60) as (near, far, address):
        here = str(Path(__file__).parent)
        server = subprocess.Popen(
            [*far, sys.executable, "-c", FAR_SERVER, here, address, kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            command = [*near, sys.executable, "-m", "onewrite_cli", "doctor", f"http://{address}:{port}/", "--yes"]
            command += ["--samples", SAMPLES, "--post-bytes", "200", "-f", "json"]
            done = concluded(lambda: run(command), lambda data: acks_late(data) is (kind == "late"))
        finally:
            server.communicate(timeout=10)
    data = done.data
    told = json.dumps(data, indent=1)
    assert (done.status, data["verdict"]) == (1, "EXPOSED"), told
    assert data["min_rtt_ms"] >= 60, told
    assert [one["word"] for one in data["findings"]] == ["EXPOSED"], told
    assert acks_late(data) is (kind == "late"), told


@pytest.mark.timed
@pytest.mark.parametrize("kind", ["quick", "late"])
def test_far_away(kind: str) -> None:
    far_away(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quick", "late"])
def test_twenty_of_twenty_far_away(kind: str) -> None:
    for _ in range(20):
        far_away(kind)
