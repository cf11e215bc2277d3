"""Each finding is reported for a client with that fault and for no other, over real sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import CLIENT, check, clean_environment, conclusive, onewrite, wait_for
from onewrite_cli.check import client
from onewrite_cli.check.command import CheckOptions
from onewrite_cli.check.command import check as run_check
from onewrite_cli.common import run
from onewrite_cli.common.outcome import State
from onewrite_cli.common.run import Ran, run_command

CLEAN = {"OW101": "ok", "OW102": "ok", "OW103": "skipped", "OW105": "ok"}


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ("none", set()),
        ("split", {"OW101"}),
        ("nagle", {"OW102"}),
        pytest.param("split,nagle", {"OW101", "OW102", "OW105"}, marks=pytest.mark.timed),
        ("fresh", set()),
        pytest.param("fresh,split,nagle", {"OW101", "OW102", "OW105"}, marks=pytest.mark.timed),
        ("slow", {"OW101"}),
        ("parallel", set()),
        ("get", set()),
    ],
)
def test_what_is_found(faults: str, found: set[str]) -> None:
    done = check(faults)
    assert {rule for rule, state in done.states.items() if state == "found"} == found
    assert done.status == bool(found)
    if not found:
        assert done.states == (CLEAN | {"OW101": "skipped"} if faults == "get" else CLEAN)
    if "OW105" in found:
        stall = done.finding("OW105")
        # The control of the same run says how long a stall is.
        assert stall["cost_ms"] > done.data["control_ms"] / 2
        # On a busy machine the ACK sometimes comes before the body is written.
        assert stall["count"] > 1


def test_the_first_request_may_come_before_the_tool_knows_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*arguments: Any, started: Callable[[Callable[[], list[int]]], None], **options: Any) -> Ran:
        def after_a_while(roots: Callable[[], list[int]]) -> None:
            time.sleep(0.5)
            started(roots)

        return run_command(*arguments, started=after_a_while, **options)

    monkeypatch.setattr(client, "run_command", late)
    report = run_check(CheckOptions([*CLIENT, "none", "{url}"]))
    assert next(outcome.state for outcome in report.outcomes if outcome.rule.id == "OW102") is State.OK


def test_over_tls_records_are_counted() -> None:
    assert check("none", "--tls").states == {**CLEAN, "OW103": "ok"}
    split = check("split", "--tls")
    assert {rule for rule, state in split.states.items() if state == "found"} == {"OW101", "OW103"}
    assert split.finding("OW103")["detail"] == "records per request: 2 in 20"


def test_https_url_needs_no_option() -> None:
    assert check("none", url="{https_url}").states["OW103"] == "ok"


def test_a_body_that_must_be_split_is_not_judged() -> None:
    done = check("large")
    assert done.states["OW101"] == "skipped"
    assert "16 KiB" in done.finding("OW101")["detail"]


def test_a_command_of_one_request_is_run_until_there_are_enough() -> None:
    done = check("split", "--requests", "7", arguments=("--requests", "1"))
    assert (done.data["runs"], done.data["requests"]) == (7, 7)


def test_the_url_is_in_the_environment_too() -> None:
    program = "import os, runpy, sys; sys.argv = ['client', 'split', os.environ['ONEWRITE_CHECK_URL']]; "
    program += f"runpy.run_path({CLIENT[1]!r}, run_name='__main__')"
    done = onewrite("check", "--strict", "-f", "json", "--", sys.executable, "-c", program)
    assert done.states["OW101"] == "found"


def test_the_body_is_as_large_as_asked() -> None:
    program = "import sys; body, file = sys.argv[1:]; assert body == open(file).read() == 'x' * 321"
    done = onewrite("check", "--body", "321", "-f", "json", "--", sys.executable, "-c", program, "{body}", "{body_file}")
    assert done.status == 2
    assert "no request came" in done.data["problem"]


def test_no_request_is_inconclusive() -> None:
    done = onewrite("check", "-f", "json", "--", "true")
    assert done.status == 2
    assert "{url}" in done.data["problem"]
    assert set(done.states.values()) == {"skipped"}


def test_a_command_that_fails_is_no_pass() -> None:
    done = check("fail")
    assert done.status == 2
    assert done.data["problem"] == "the command ended with status 7"
    assert "the command printed: done, whatever the tests print" in done.data["notes"]
    assert check("fail,split").status == 1


def test_a_command_that_hangs_is_ended() -> None:
    done = onewrite("check", "--timeout", "1", "-f", "json", "--", "sleep", "60")
    assert done.status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--", "/no/such/program", "{url}"),
        ("check", "--"),
        ("serve", "--", "true", "{port}"),
        ("tap",),
        ("check", "--requests", "0", "--", "true"),
        ("check", "--via", "strace", "--", "true"),  # removed: it took MSG_MORE for a split
        ("check", "--rule", "nonsense=warn", "--", "true"),
        ("check", "--rule", "nodelay=maybe", "--", "true"),
        ("explain", "OW999"),
        ("nonsense",),
        (),
    ],
)
def test_what_cannot_run_is_three(arguments: tuple[str, ...]) -> None:
    done = onewrite(*arguments)
    assert done.status == 3
    assert done.err
    assert "Traceback" not in done.err


def test_rules_can_be_softened() -> None:
    done = check("split,nagle", "--rule", "nodelay=warn", "--rule", "OW101=off", "--rule", "stall=warn")
    assert (done.states["OW101"], done.states["OW102"]) == ("off", "warned")
    # On a busy machine the stall may be inconclusive.
    assert done.states["OW105"] != "found"
    assert done.status != 1


def test_nothing_but_the_report_in_a_pipe() -> None:
    done = check("none")
    assert done.err == ""
    assert done.out.startswith("{")


def test_the_commands_output_is_shown_when_asked_for() -> None:
    done = onewrite("check", "-v", "--requests", "3", "--", *CLIENT, "none", "{url}", "--requests", "3")
    assert "done, whatever the tests print" in done.err
    assert "whatever" not in done.out


def test_an_interrupt_while_the_command_is_started_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Popen returns some time after the command has begun to run, on a busy machine much later."""
    children = []
    popen = run.Background

    def interrupted_popen(*arguments: object, **options: object) -> object:
        children.append(popen(*arguments, **options))  # type: ignore[call-overload]
        os.kill(os.getpid(), signal.SIGINT)
        return children[0]

    monkeypatch.setattr(run, "Background", interrupted_popen)
    with pytest.raises(KeyboardInterrupt):
        run_command(["sleep", "60"], clean_environment(), timeout_s=60, show=False, started=lambda roots: None)
    assert children[0].returncode == -signal.SIGTERM


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_the_command(number: signal.Signals, background: bool, tmp_path: Path) -> None:
    """Also where a shell has put it in the background, with SIGINT ignored."""
    sigint = signal.SIG_IGN if background else signal.SIG_DFL
    pid_file = tmp_path / "pid"
    program = f"import os, pathlib, time; pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid())); time.sleep(60)"
    tool = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "--", sys.executable, "-c", program],
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, sigint),
    )
    wait_for(lambda: pid_file.exists() and pid_file.read_text())
    child = int(pid_file.read_text())
    tool.send_signal(number)
    _, err = tool.communicate(timeout=60)
    assert tool.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


MANY = """
import socket, sys, threading, time
from urllib.parse import urlsplit
url, nagle, slowest = urlsplit(sys.argv[1]), "nagle" in sys.argv[2], []
def one():
    sock = socket.create_connection((url.hostname, url.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nagle)
    for _ in range(3):
        begun = time.monotonic()
        sock.sendall(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 200\\r\\n\\r\\n")
        sock.sendall(b"x" * 200)
        sock.recv(1000)
        slowest.append(time.monotonic() - begun)
threads = [threading.Thread(target=one) for _ in range(100)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.mark.timed
@pytest.mark.parametrize("way", ["nagle", "nodelay"])
def test_a_hundred_connections_are_read(way: str) -> None:
    """The witness looks at each silent connection alone, and walks the descriptors once for all that wait."""
    done = conclusive(lambda: onewrite("check", "-f", "json", "--", sys.executable, "-c", MANY, "{url}", way))
    assert done.states["OW105"] == ("found" if way == "nagle" else "ok"), done.out
    assert done.finding("OW102")["of"] >= 90


LOGIN = """
import os, socket, sys
from urllib.parse import urlsplit
url = urlsplit(sys.argv[1])
sock = socket.create_connection((url.hostname, url.port))
token = os.environ["TOKEN"].encode()
sock.sendall(b"POST /login?token=" + token + b" HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 200\\r\\n\\r\\n")
sock.sendall(b"x" * 200)
sock.recv(1000)
for number in range(19):
    sock.sendall(b"GET /%d?token=%b HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % (number, token))
    sock.recv(1000)
"""


@pytest.mark.timed
def test_one_login_that_waits_is_no_pass_and_its_token_stays_out() -> None:
    done = onewrite("check", "-f", "json", "--", sys.executable, "-c", LOGIN, "{url}", env={"TOKEN": "t0ken"})
    assert done.states["OW101"] == "warned"
    assert (done.status, done.states["OW105"]) == (2, "inconclusive"), done.out
    assert done.finding("OW101")["examples"][0].startswith("POST /login (")
    assert "t0ken" not in done.out


def test_a_command_that_fails_runs_once() -> None:
    done = check("fail", arguments=("--requests", "1"))
    assert (done.status, done.data["runs"], done.data["requests"]) == (2, 1, 1)


def test_without_a_command_it_listens_and_judges_what_came() -> None:
    tool = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "--strict", "-f", "json"],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tool.stdout is not None
    url = json.loads(tool.stdout.readline())["url"]
    subprocess.run([*CLIENT, "split", url, "--requests", "5"], check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(tool.stdout.readline()) for _ in range(5)]
    said = [(line["method"], line["path"], line["body_bytes"]) for line in lines]
    assert said == [("POST", f"/{number}", 200) for number in range(5)]
    assert statistics.mode(line["segments"] for line in lines) == 2
    tool.send_signal(signal.SIGINT)
    report = json.loads(tool.communicate(timeout=30)[0])
    assert (tool.returncode, report["requests"]) == (1, 5)
    assert {one["rule"]: one["state"] for one in report["findings"]}["OW101"] == "found"


def test_a_listening_check_ends_after_so_many_requests() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tool = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "--until", "3", "--port", str(port)],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tool.stdout is not None
    assert tool.stdout.readline().startswith(f"listening on http://127.0.0.1:{port}/; Ctrl-C")
    subprocess.run([*CLIENT, "none", f"http://127.0.0.1:{port}/", "--requests", "3"], check=True, stdout=subprocess.DEVNULL)
    out = tool.communicate(timeout=30)[0]
    assert (tool.returncode, "CLEAN as far as it could be judged: " in out) == (0, True), out
