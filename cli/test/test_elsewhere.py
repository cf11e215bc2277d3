"""Without TCP_INFO, without root, on a terminal: what cannot be seen is skipped, and the report says so."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace

import pytest

from conftest import CLIENT, clean_environment
from onewrite_cli.check import seen
from onewrite_cli.check.command import CheckOptions, check
from onewrite_cli.common import sockets
from onewrite_cli.common.outcome import State
from onewrite_cli.doctor.measure import Samples
from onewrite_cli.doctor.verdict import diagnose
from test_verdict import CONTROL, sample, samples


@pytest.mark.timed
def test_without_tcp_info_nothing_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example on macOS, which shows neither segments nor the client's sockets."""
    monkeypatch.setattr(seen, "SEGMENTS_COUNTED", False)
    monkeypatch.setattr(sockets, "AVAILABLE", False)

    def absent() -> None:
        raise OSError("NETLINK_SOCK_DIAG is Linux's")

    monkeypatch.setattr(sockets, "Diag", absent)
    report = check(CheckOptions([*CLIENT, "split,nagle", "{url}"]))
    states = {outcome.rule.id: (outcome.state, outcome.detail) for outcome in report.outcomes}
    assert states["OW101"] == (State.SKIPPED, "counting segments needs TCP_INFO, which is Linux's")
    assert states["OW102"] == (State.SKIPPED, "reading another process's sockets needs Linux")
    # Without the kernel's account a silence may be the client's own.
    assert states["OW105"][0] is State.INCONCLUSIVE
    assert report.exit_status == 2


def test_without_the_kernels_evidence_times_decide() -> None:
    def blind(made: Samples) -> Samples:
        for arm, taken in made.taken.items():
            made.taken[arm] = [replace(one, held_ns=None, held_bytes=None, min_rtt_us=None) for one in taken]
        return made

    late = diagnose(blind(samples([sample(44)] * 10)), CONTROL)
    assert late.verdict == "EXPOSED"
    assert "does not show what held them" in late.findings[0].why
    assert diagnose(blind(samples([sample(0.4)] * 10)), CONTROL).verdict == "safe"


def on_a_terminal(arguments: list[str], answer: bytes = b"", seconds: float = 60, columns: int = 0) -> tuple[int, str]:
    """Run with a terminal for everything: (exit status, what was shown)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = clean_environment() | {"TERM": "xterm"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "onewrite_cli", *arguments]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # EIO: the other end is gone
                break
            if not piece:
                break
            shown += piece
            if answer and b"[y/N]" in shown:
                os.write(ours, answer)
                answer = b""
        elif child.poll() is not None:
            break
    os.close(ours)
    return child.wait(10), shown.decode(errors="replace")


def test_on_a_terminal_there_is_progress_and_the_same_report() -> None:
    status, shown = on_a_terminal(["check", "--", *CLIENT, "none", "{url}"])
    assert status == 0
    assert "the controls" in shown
    assert "OW101 ok" in shown


def test_a_question_can_be_answered_with_no() -> None:
    # 192.0.2.1 is for documentation (RFC 5737).
    status, shown = on_a_terminal(["doctor", "http://192.0.2.1/"], b"n\n")
    assert status == 3
    assert "will send 197 GET requests to http://192.0.2.1/" in shown
    assert "nothing was sent" in shown


def test_without_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("everything here runs without root")
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", sys.executable]
    environment = clean_environment() | {"HOME": "/tmp"}
    tried = subprocess.run([*command, "-c", "import onewrite_cli"], capture_output=True, env=environment, check=False)
    if tried.returncode or not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("another user may not read this Python")
    done = subprocess.run(
        [*command, "-m", "onewrite_cli", "check", "--", "/usr/bin/python3", CLIENT[1], "split,nagle", "{url}"],
        capture_output=True, text=True, env=environment, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "OW102 warned" in done.stdout
