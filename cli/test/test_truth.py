"""What a report says is true at the edges: who waited, what could not be seen, and that the traffic is never touched."""

from __future__ import annotations

import contextlib
import ctypes
import json
import socket
import ssl
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from conftest import CLIENT, check, clean_environment, onewrite
from onewrite_cli.check.environment import PEM_VARIABLES, trust_environment
from peers import ANSWER, Listener, Server
from test_kinds import alive

PIDFD_OPEN, PIDFD_GETFD, ENOSYS, EPERM = 434, 438, 38, 1
TOOL = [sys.executable, "-m", "onewrite_cli"]


def refuses(call: int, code: int) -> None:
    """A seccomp filter, as of a sandbox or an older kernel: this system call fails."""
    lines = ((0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | code), (0x06, 0, 0, 0x7FFF0000))
    buffer = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer)), 0, 0) == 0


@pytest.mark.parametrize(
    ("call", "code"), [(PIDFD_OPEN, ENOSYS), (PIDFD_OPEN, EPERM), (PIDFD_GETFD, ENOSYS), (PIDFD_GETFD, EPERM)]
)
def test_a_witness_that_fails_skips_a_rule_and_touches_nothing(call: int, code: int) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*TOOL, *arguments], capture_output=True, text=True, timeout=60, check=False,
            env=clean_environment(), preexec_fn=lambda: refuses(call, code),
        )  # fmt: skip

    client = json.loads(run("check", "-f", "json", "--", *CLIENT, "none", "{url}").stdout)
    assert (client["problem"], client["requests"]) == (None, 20)
    assert next(one["detail"] for one in client["findings"] if one["rule"] == "OW102").startswith("pidfd_")
    server = json.loads(run("check", "-f", "json", "--", sys.executable, "-m", "http.server", "{port}").stdout)
    assert server["problem"] is None
    assert [one["state"] for one in server["findings"] if one["rule"] == "OW202"] == ["skipped"]
    watched = run("watch", "--", sys.executable, "-c", "import socket, time; s = socket.socket(); time.sleep(1)")
    assert (watched.returncode, watched.stderr.startswith("onewrite: pidfd_")) == (3, True)


def test_a_client_that_leaves_an_answer_blames_nobody() -> None:
    def serve(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.recv(4096)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + bytes(1 << 25))

    listener = Listener(serve)
    program = f"import os, urllib.request as r; r.urlopen('http://127.0.0.1:{listener.port}/').read(9)"
    done = onewrite("check", "--proxy", "--requests", "1", "--", sys.executable, "-c", program)
    listener.close()
    assert "could not reach" not in done.out
    assert done.status == 0, done.out


def test_the_users_own_authorities_stay_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authorities = [trustme.CA() for _ in range(len(PEM_VARIABLES) + 1)]
    for number, authority in enumerate(authorities):
        authority.cert_pem.write_to_path(str(tmp_path / f"{number}.pem"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "0.pem").rename(folder / "0.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(folder))
    others = [name for name in PEM_VARIABLES if name != "REQUESTS_CA_BUNDLE"]
    for number, name in enumerate(others, 1):
        monkeypatch.setenv(name, str(tmp_path / f"{number}.pem"))
    given = trust_environment(str(tmp_path / f"{len(authorities) - 1}.pem"), tmp_path)
    assert set(given) == set(PEM_VARIABLES)
    (bundle,) = set(given.values())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(bundle)
    trusted = set(context.get_ca_certs(binary_form=True))
    wanted = {ssl.PEM_cert_to_DER_cert(one.cert_pem.bytes().decode()) for one in authorities}
    assert wanted <= trusted


@pytest.mark.parametrize("faults", ["slow,nagle", "slow,split,nagle"])
def test_a_client_that_pauses_is_no_stall(faults: str) -> None:
    done = check(faults)
    assert done.states["OW105"] == "ok", done.out
    assert "its kernel held nothing" in done.finding("OW105")["detail"]
    assert done.states["OW102"] == "found"


CORKED = """
import socket, sys, time
from urllib.parse import urlsplit
url, way = urlsplit(sys.argv[1]), sys.argv[2]
with socket.create_connection((url.hostname, url.port)) as sock:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if way == "cork":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    flags = socket.MSG_MORE if way == "more" else 0
    for _ in range(10):
        sock.send(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\n\\r\\nhello", flags)
        assert sock.recv(4096)
"""
CORKED_SERVER = """
import socket, sys, threading
def serve(sock):
    while sock.recv(65536):
        sock.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n", socket.MSG_MORE)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
"""


@pytest.mark.timed
@pytest.mark.parametrize("way", ["more", "cork"])
def test_what_a_cork_holds_is_found_by_check(way: str) -> None:
    command = (sys.executable, "-c", CORKED, "{url}", way)
    for _ in range(3):
        done = onewrite("check", "-f", "json", "--requests", "10", "--", *command)
        if done.states["OW105"] != "inconclusive":
            break
    assert (done.status, done.states["OW105"]) == (1, "found"), done.out
    assert "MSG_MORE or TCP_CORK" in done.finding("OW105")["detail"]
    assert done.finding("OW105")["cost_ms"] > 150


@pytest.mark.timed
def test_what_a_cork_holds_is_found_in_answers_and_by_watch() -> None:
    done = onewrite("check", "-f", "json", "--requests", "8", "--", sys.executable, "-c", CORKED_SERVER, "{port}")
    assert (done.status, done.states["OW205"]) == (1, "found"), done.out
    assert "MSG_MORE" in done.finding("OW205")["cure"]
    server = Server()
    watched = onewrite("watch", "-f", "json", "--", sys.executable, "-c", CORKED, server.url, "more")
    server.close()
    (one,) = watched.data["sockets"]
    assert (one["found"], list(one["causes"]), watched.status) == (True, ["cork"], 1), watched.out
    assert one["longest_ms"]["cork"] > 100


@pytest.mark.timed
def test_watch_names_the_cause_and_the_milliseconds() -> None:
    server = Server()
    done = onewrite("watch", "--", *CLIENT, "split,nagle", server.url, "--requests", "40")
    server.close()
    assert done.out.startswith("STALLS: 1 of 1 socket held bytes by Nagle's algorithm, for "), done.out
    assert "nagle_delayed_ack" in done.out


PIPELINED = """
import socket, sys
from urllib.parse import urlsplit
url = urlsplit(sys.argv[1])
with socket.create_connection((url.hostname, url.port)) as sock:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(10):
        for _ in range(2):
            sock.sendall(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
        answers = b""
        while answers.count(b"ok\\n") < 2:
            answers += sock.recv(4096)
"""


def test_a_pipeline_is_not_more_than_one_write() -> None:
    done = onewrite("check", "-f", "json", "--rule", "stall=off", "--", sys.executable, "-c", PIPELINED, "{url}")
    assert done.data["requests"] == 20
    assert done.states["OW101"] in ("skipped", "ok"), done.out


@pytest.mark.timed
def test_a_stall_of_new_connections_is_said_to_be_of_this_server() -> None:
    for faults, said in (("fresh,split,nagle", True), ("split,nagle", False)):
        done = check(faults)
        assert done.states["OW105"] == "found"
        assert ("each on a new connection" in done.finding("OW105")["detail"]) is said


def test_a_server_that_answers_errors_only_is_inconclusive() -> None:
    done = onewrite("check", "-f", "json", "--", sys.executable, str(Path(__file__).parent / "server.py"), "missing", "{port}")
    assert (done.status, "every answer is an error (404)" in done.data["problem"]) == (2, True)


@pytest.mark.parametrize(
    ("options", "status", "word"),
    [((), 0, "WARNED"), (("--strict",), 1, "FOUND"), (("--strict", "--rule", "split-write=warn"), 0, "WARNED"),
     (("--rule", "OW101=fail"), 1, "FOUND"), (("--rule", "split-write=off"), 0, "CLEAN")],
)  # fmt: skip
def test_what_costs_no_time_warns(options: tuple[str, ...], status: int, word: str) -> None:
    done = onewrite("check", "--requests", "3", "--rule", "stall=off", *options, "--", *CLIENT, "split", "{url}")
    assert (done.status, done.out.startswith(word)) == (status, True), done.out


def measured(*arguments: str) -> tuple[dict[str, Any], int]:
    """The report of a check, and the most memory that the tool has used, in KiB."""
    peak = "import resource, sys; from onewrite_cli.__main__ import main; main(); "
    peak += "print('PEAK', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    command = [sys.executable, "-c", peak, "check", "-f", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
    return json.loads(done.stdout), int(done.stderr.split()[-1])


def test_what_a_command_prints_is_not_kept_without_limit() -> None:
    program = "import sys\nprint('first')\nfor n in range(100_000): print('a line', n)\nprint('last'); sys.exit(1)"
    data, peak = measured("--", sys.executable, "-c", program)
    printed = [note.partition(": ")[2] for note in data["notes"]]
    assert (printed[0], printed[-1], "…" in printed) == ("first", "last", True)
    assert peak < 100_000


UPLOAD = """
import http.client, sys
from urllib.parse import urlsplit
there = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc)
there.request("PUT", "/", (bytes(1 << 20) for _ in range(100)), {sys.argv[2]: sys.argv[3]}, encode_chunked=True)
there.getresponse()
"""


@pytest.mark.parametrize("framing", [("Content-Length", str(100 << 20)), ("Transfer-Encoding", "chunked")])
def test_an_upload_needs_no_memory(framing: tuple[str, str]) -> None:
    data, peak = measured("--requests", "1", "--", sys.executable, "-c", UPLOAD, "{url}", *framing)
    assert (data["requests"], data["problem"]) == (1, None)
    assert peak < 100_000


DAEMON = """
import os, pathlib, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
        os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
    os._exit(0)
os.wait()
"""


def test_a_daemon_is_followed_read_and_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = (sys.executable, "-c", DAEMON, str(pid))
    done = onewrite(
        "check",
        "--until",
        "20",
        "--strict",
        "-f",
        "json",
        "--rule",
        "stall=off",
        "--",
        *daemon,
        CLIENT[1],
        "nagle,forever",
        "{url}",
    )
    assert (done.data["requests"], done.data["problem"]) == (20, None), done.out
    assert done.states["OW102"] == "found"
    assert not alive(int(pid.read_text()))
    served = onewrite("check", "-f", "json", "--", *daemon, "-m", "http.server", "--bind", "127.0.0.1", "{port}")
    assert served.data["problem"] is None, served.err
    assert served.states["OW202"] != "skipped"
    assert not alive(int(pid.read_text()))
    server = Server()
    watched = onewrite("watch", "-f", "json", "--", *daemon, CLIENT[1], "nagle", server.url)
    server.close()
    assert len(watched.data["sockets"]) == 1


def test_an_interrupt_during_the_imports_is_an_interrupt(tmp_path: Path) -> None:
    file = tmp_path / "onewrite.pyz"
    subprocess.run([Path(__file__).resolve().parents[1] / "tools" / "pyz", file], check=True)
    program = (
        "import runpy, sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'onewrite_cli.check.command': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "sys.argv = ['onewrite', 'check', '--', 'true']; file = "
        f"{str(file)!r}\n"
        "runpy.run_path(file, run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (130, "onewrite: interrupted\n")


def slower(sock: socket.socket, extra_s: float) -> None:
    """One who takes longer for a request in two pieces, as a relay does whose peer delays its ACK by that."""
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := sock.recv(65536):
            if not head.endswith(b"x"):
                while not sock.recv(65536).endswith(b"x"):
                    pass
                time.sleep(extra_s)
            sock.sendall(ANSWER + b"ok\n")


@pytest.mark.timed
@pytest.mark.parametrize("extra_ms", [20, 120, 210])
def test_a_delay_of_any_length_that_two_writes_alone_show_is_found(extra_ms: int) -> None:
    listener = Listener(lambda sock: slower(sock, extra_ms / 1000))
    done = onewrite("doctor", f"http://127.0.0.1:{listener.port}/", "--post-bytes", "200", "--samples", "9", "-f", "json")
    listener.close()
    assert (done.data["verdict"], done.status) == ("RELAY", 1), done.out
    assert "also with TCP_NODELAY" in done.data["findings"][0]["why"]


def test_an_early_answer_is_said() -> None:
    def early(sock: socket.socket) -> None:
        data = b""
        with sock:
            while piece := sock.recv(65536):
                data += piece
                if b"\r\n\r\n" in data:
                    sock.sendall(ANSWER + b"ok\n")
                    data = data.partition(b"\r\n\r\n")[2]
                    while len(data) < 200:
                        data += sock.recv(65536)
                    data = data[200:]

    listener = Listener(early)
    done = onewrite("doctor", f"http://127.0.0.1:{listener.port}/", "--post-bytes", "200", "--samples", "5", "-f", "json")
    listener.close()
    assert any("before their second piece" in note for note in done.data["notes"]), done.out


def test_other_children_are_not_ended() -> None:
    """The tool ends the daemons of its command, not older children of the process that it is used in."""
    program = "import subprocess, sys; from onewrite_cli.check.command import CheckOptions, check\n"
    program += "one = subprocess.Popen(['sleep', '60']); check(CheckOptions(['true'])); print(one.poll()); one.kill()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=clean_environment())
    assert done.stdout == "None\n", done.stderr
