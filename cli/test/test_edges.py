"""The edges of check: clients that close, HTTP/2, bursts, services, crashes, and who hears of what."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CLIENT, check, clean_environment, onewrite, wait_for

HTTP2 = """
import socket, sys
from urllib.parse import urlsplit
sock = socket.create_connection((urlsplit(sys.argv[1]).hostname, urlsplit(sys.argv[1]).port), timeout=10)
sock.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes(3) + b"\\x04" + bytes(5))
while sock.recv(4096):
    pass
"""


@pytest.mark.parametrize("faults", ["close,until-close", "http1.0,until-close", "close,http1.0,until-close"])
def test_the_connection_is_closed_for_a_client_that_reads_until_then(faults: str) -> None:
    done = check(faults, "--timeout", "30")
    assert done.data["requests"] == 20
    assert done.data["problem"] is None


def test_a_problem_is_told_beside_what_was_found() -> None:
    done = onewrite("check", "--strict", "--", *CLIENT, "split,fail", "{url}")
    assert done.status == 1
    assert done.out.startswith("FOUND: the request leaves in more than one write (20 of 20 requests)")
    assert "the command ended with status 7" in done.out


def test_http2_is_not_judged() -> None:
    done = onewrite("check", "-f", "json", "--timeout", "30", "--", sys.executable, "-c", HTTP2, "{url}")
    assert done.status == 2
    assert "HTTP/2" in done.data["problem"]
    assert set(done.states.values()) == {"skipped"}
    assert "HTTP/2" in done.finding("OW101")["detail"]


def test_a_service_is_ended_after_enough_requests() -> None:
    done = check("forever", "--until", "20", "--timeout", "60")
    assert (done.status, done.data["problem"], done.data["requests"]) == (0, None, 20)
    for seconds in ("3", "10", "40"):  # on a busy machine the client may take some to start
        short = check("forever", "--until", "30", "--timeout", seconds)
        assert short.status == 2
        if short.data["requests"]:
            break
    assert "--until" in short.data["problem"]


SERVICE = f"""\
#!{sys.executable}
import http.client, http.server, sys
from urllib.parse import urlsplit
there = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        there.request("GET", "/")
        there.getresponse().read()
        self.do_GET()

http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
"""


def test_a_service_that_has_to_be_called_is_called_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of docs/check-in-tests.md, with another port."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "check-in-tests.md").read_text()
    (block,) = re.findall(r"```sh\nonewrite (check --until 20 -- sh -c '\n.*?)```", page, re.S)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    monkeypatch.chdir(tmp_path)
    Path("service").write_text(SERVICE.replace("8080", port))
    Path("service").chmod(0o755)
    command = shlex.split(block.replace("8080", port))
    done = onewrite(*command[:1], "-f", "json", "--rule", "stall=off", "--timeout", "100", *command[1:])
    assert (done.status, done.data["problem"], done.data["requests"]) == (0, None, 20), done.out


def test_the_commands_stdin_is_empty() -> None:
    line = 'test -z "$(cat)" && exec "$0" "$1" none "$2"'
    command = ("sh", "-c", line, *CLIENT, "{url}")
    done = onewrite("check", "-f", "json", "--rule", "stall=off", "--", *command, stdin="of the tool")
    assert (done.status, done.data["requests"]) == (0, 20)


def test_an_untrusted_certificate_is_named() -> None:
    program = (
        "import urllib.request, ssl, sys; urllib.request.urlopen(sys.argv[1], context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))"
    )
    done = onewrite("check", "-f", "json", "--tls", "--", sys.executable, "-c", program, "{url}")
    assert done.status == 2
    assert "does not trust the tool's certificate" in done.data["problem"]


def test_a_command_that_fails_before_it_asks_is_named() -> None:
    done = onewrite("check", "-f", "json", "--", sys.executable, "-c", "import nothing_of_the_kind", "{url}")
    assert done.status == 2
    assert done.data["problem"] == "no request came: the command ended with status 1"
    assert any("nothing_of_the_kind" in note for note in done.data["notes"])


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("check", "curl", "{url}"), "after two dashes"),
        (("doctor", "http://127.0.0.1:1/", "http://127.0.0.1:2/"), "one URL at a time"),
        (("doctor", "--samples", "3", "http://127.0.0.1:1/"), "not between 5 and 100"),
        (("check", "--port", "99999"), "not between 0 and 65535"),
        (("check", "--port", "8080", "--until", "3", "--", "true"), "--port is of a command that is a server"),
        (("check", "--path", "/a b", "--", "true", "{port}"), "--path begins with a slash"),
        (("check", "-o", "/", "--", "true"), "Is a directory"),
        (("check", "-o", "/proc/nowhere/report.json", "--", "true"), "/proc/nowhere"),
    ],
)
def test_a_slip_gets_a_hint(arguments: tuple[str, ...], hint: str) -> None:
    done = onewrite(*arguments)
    assert done.status == 3
    assert hint in done.err
    assert "Traceback" not in done.err


def test_a_temporary_folder_that_is_not_there_is_named() -> None:
    done = onewrite("check", "--", "true", env={"TMPDIR": "/nowhere"})
    assert (done.status, done.err) == (3, "onewrite: TMPDIR: /nowhere: No such file or directory\n")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", line.replace("onewrite ", f"{sys.executable} -m onewrite_cli ")]
    return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "line",
    [
        "onewrite explain > /dev/full",
        "onewrite explain >&-",
        "onewrite explain OW999 2>&-",
        "onewrite check -f json -- true > /dev/full",
        "onewrite check -v -- true 2> /dev/full > /dev/full",
    ],
)
def test_what_goes_wrong_inside_is_three(line: str) -> None:
    done = shell(line)
    assert done.returncode == 3, done
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_a_crash_is_three_and_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import sys; from onewrite_cli import app; from onewrite_cli.check import command\n"
        "def boom(options): raise ZeroDivisionError('two\\nlines')\n"
        "command.check = boom; sys.exit(app.main(['check', '--', 'true']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("onewrite: ZeroDivisionError: two lines")
    assert len(done.stderr.splitlines()) == 1


def test_a_listening_check_that_nobody_reads_ends() -> None:
    tap = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "-f", "json"],
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    assert tap.stdout is not None
    assert b'"url"' in tap.stdout.readline()
    tap.stdout.close()
    assert tap.wait(30) == 2


def test_a_hangup_ends_the_command_and_removes_the_folder(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    folder = tmp_path / "tmp"
    folder.mkdir()
    program = f"import os, pathlib, time; pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid())); time.sleep(60)"
    tool = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "--", sys.executable, "-c", program],
        env=clean_environment() | {"TMPDIR": str(folder)},
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    wait_for(lambda: pid_file.exists() and pid_file.read_text())
    tool.send_signal(signal.SIGHUP)
    assert tool.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
    assert list(folder.iterdir()) == []


def test_a_hangup_that_nohup_ignores_ends_nothing() -> None:
    tap = subprocess.Popen(
        [sys.executable, "-m", "onewrite_cli", "check", "-f", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert tap.stdout is not None
    assert b'"url"' in tap.stdout.readline()
    tap.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        tap.wait(1)
    tap.stdout.close()
    assert tap.wait(30) == 2
