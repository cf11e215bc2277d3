"""`onewrite check` of a server: each finding is reported for a server with that fault and for no other."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from conftest import Done, onewrite

SERVER = [sys.executable, str(Path(__file__).resolve().parent / "server.py")]


def serve(faults: str, *options: str) -> Done:
    """`onewrite check -f json`, repeated where a busy machine made the control inconclusive."""
    for _ in range(3):
        done = onewrite("check", "--strict", "-f", "json", *options, "--", *SERVER, faults, "{port}")
        if not done.out or done.states.get("OW205") != "inconclusive":
            break
    return done


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ("none", set()),
        ("split", {"OW201"}),
        ("nagle", {"OW202"}),
        pytest.param("split,nagle", {"OW201", "OW202", "OW205"}, marks=pytest.mark.timed),
        ("close", set()),
        ("slow", {"OW201"}),
        ("large", set()),
    ],
)
def test_what_is_found(faults: str, found: set[str]) -> None:
    done = serve(faults)
    assert {rule for rule, state in done.states.items() if state == "found"} == found, done.out
    assert done.status == bool(found)
    assert done.states["OW201"] == ("skipped" if faults == "large" else "found" if "OW201" in found else "ok")
    if "OW205" in found:
        assert done.finding("OW205")["cost_ms"] > done.data["control_ms"] / 2


def test_workers_are_included() -> None:
    for _ in range(5):  # whoever is quicker accepts
        nodelay = serve("workers").finding("OW202")
        if "2 processes" in nodelay["detail"]:
            break
    assert nodelay["state"] == "found"
    assert 0 < nodelay["count"] < nodelay["of"] == 8
    assert "pid" in nodelay["examples"][0]


def test_what_the_server_says_is_noted() -> None:
    done = serve("missing", "--path", "/elsewhere")
    assert "the server says that it is faulty/1" in done.data["notes"]
    assert any("status 404" in note for note in done.data["notes"])


def test_a_server_that_ends_or_never_listens_could_not_be_run() -> None:
    ended = onewrite("check", "--", sys.executable, "-c", "import sys; sys.exit('no such module')", "{port}")
    assert (ended.status, "no such module" in ended.err) == (3, True)
    deaf = onewrite("check", "--timeout", "1", "--", "sleep", "60", "{port}")
    assert (deaf.status, "does not listen" in deaf.err) == (3, True)


def test_a_port_that_is_taken_is_not_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = onewrite("check", "--port", str(other.getsockname()[1]), "--", "sleep", "60")
    assert (done.status, "already" in done.err) == (3, True)


def test_what_is_no_http_is_inconclusive() -> None:
    program = (
        "import socket, sys\nl = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "while True: l.accept()[0].sendall(b'220 mail\\r\\n')"
    )
    done = onewrite("check", "-f", "json", "--", sys.executable, "-c", program, "{port}")
    assert done.status == 2
    assert "did not answer" in done.data["problem"]
