"""The system-call witness, on an unchanged command and on lines as strace writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import check, onewrite
from onewrite_cli.check.strace import seen_in
from onewrite_cli.check.strace_log import read_log
from peers import Server, tls_server

pytestmark = pytest.mark.usefixtures("strace_works")


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ("none", set()),
        ("split", {"OW101"}),
        ("split,nagle", {"OW101", "OW102"}),
        ("fresh", {"OW104"}),
        ("parallel,split", {"OW101"}),
    ],
)
def test_what_is_found(faults: str, found: set[str]) -> None:
    server = Server()
    done = check(faults, "--via", "strace", url=server.url)
    server.close()
    assert {rule for rule, state in done.states.items() if state == "found"} == found
    assert done.data["witness"] == "strace (system calls)"
    # strace slows the client down, so the stall is skipped, never passed.
    assert done.states["OW105"] == done.states["OW106"] == "skipped"
    assert not any("client.py" in note for note in done.data["notes"])


def test_peers_and_descriptors_are_named() -> None:
    server = Server()
    done = check("nagle", "--via", "strace", url=server.url)
    server.close()
    example = done.finding("OW102")["examples"][0]
    assert example.startswith(f"127.0.0.1:{server.port}, descriptor ")


def test_tls_records_are_counted_by_system_calls(tmp_path: Path) -> None:
    server, ca_file = tls_server(tmp_path)
    env = {"SSL_CERT_FILE": ca_file}
    done = onewrite("check", "-f", "json", "--via", "strace", "--", *_client("split", server.url), env=env)
    single = onewrite("check", "-f", "json", "--via", "strace", "--", *_client("none", server.url), env=env)
    server.close()
    assert done.finding("OW103")["detail"] == "records per request: 2 in 20"
    assert done.finding("OW101")["detail"] == "writes per request: 2 in 20"
    assert single.states["OW101"] == single.states["OW103"] == "ok"


def _client(faults: str, url: str) -> list[str]:
    from conftest import CLIENT

    return [*CLIENT, faults, url]


def test_without_a_placeholder_strace_is_the_witness() -> None:
    server = Server()
    done = check("split", url=server.url)
    server.close()
    assert done.data["witness"] == "strace (system calls)"
    assert done.states["OW101"] == "found"


def test_no_connection_is_inconclusive() -> None:
    done = onewrite("check", "-f", "json", "--via", "strace", "--", "true")
    assert done.status == 2


def test_no_strace_is_told(tmp_path: Path) -> None:
    (tmp_path / "true").symlink_to("/bin/true")
    done = onewrite("check", "--via", "strace", "--", "true", env={"PATH": str(tmp_path)})
    assert done.status == 3
    assert "strace is not installed" in done.err


# ruff: noqa: E501 (lines as strace writes them)
LOG = r"""
10 1.000000001 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<TCP:[77]>
10 1.1 setsockopt(3<TCP:[77]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0
10 1.2 connect(3<TCP:[77]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("\x31")}, 16) = -1 EINPROGRESS (Operation now in progress)
10 1.25 clone3({flags=CLONE_VM|CLONE_THREAD, child_tid=0x1}, 88) = 11
11 1.3 writev(3<TCP:[127.0.0.1:5000->127.0.0.1:80]>, [{iov_base="\x50\x4f\x53\x54\x20\x2f\x20\x48\x54\x54\x50\x2f\x31\x2e\x31\x0d\x0a\x0d\x0a", iov_len=19}], 1 <unfinished ...>
10 1.31 read(9</etc/passwd>, "\x41", 1) = 1
11 1.32 <... writev resumed>) = 19
11 1.4 sendto(3<TCP:[127.0.0.1:5000->127.0.0.1:80]>, "\x78\x78", 2, MSG_NOSIGNAL, NULL, 0) = 2
11 1.5 recvfrom(3<TCP:[127.0.0.1:5000->127.0.0.1:80]>, "\x48\x54\x54\x50", 4, 0, NULL, NULL) = 4
11 1.6 sendto(3<TCP:[127.0.0.1:5000->127.0.0.1:80]>, "\x47\x45\x54\x20\x2f\x78\x20\x48\x54\x54\x50\x2f\x31\x2e\x31\x0d\x0a\x0d\x0a", 19, 0, NULL, 0) = 19
10 1.7 sendto(4<UNIX:[5->6]>, "\x47\x45\x54\x20\x2f\x20\x48\x54\x54\x50\x2f\x31\x2e\x31\x0d\x0a\x0d\x0a", 18, 0, NULL, 0) = 18
""".lstrip()


def test_lines_are_read(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    log.write_text(LOG)
    calls = list(read_log(iter(LOG.splitlines(keepends=True))))
    assert [call.name for call in calls] == [
        "socket", "setsockopt", "connect", "clone3", "read", "writev", "sendto", "recvfrom", "sendto", "sendto",
    ]  # fmt: skip
    assert calls[0].t_ns == 1_000_000_001
    seen = seen_in([log])
    assert [(request.method, request.target, request.pieces) for request in seen.requests] == [("POST", "/", 2), ("GET", "/x", 1)]
    assert [connection.nodelay for connection in seen.connections] == [True]
