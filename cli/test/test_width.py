"""A narrow terminal, COLUMNS, a pipe: tables keep their columns, and a cut ends in an ellipsis."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import CLIENT, onewrite
from onewrite_cli.doctor.report import Examination, as_text
from onewrite_cli.doctor.request import DoctorRequest, route_to
from onewrite_cli.doctor.verdict import diagnose
from onewrite_cli.watch.command import as_table
from onewrite_cli.watch.sockets import WatchedSocket
from peers import Server
from test_elsewhere import on_a_terminal
from test_verdict import CONTROL, sample, samples

LONG = WatchedSocket("a-long-command- 1234567", "out", 1, "2001:db8:1111:2222:3333:4444:5555:6666", 65535, nodelay=False)
SHORT = WatchedSocket(
    "ruby 1",
    "in",
    8080,
    "127.0.0.1",
    2,
    nodelay=True,
    open=False,
    causes=Counter(cork=12),
    longest_ms={"cork": 204},
    held_bytes=4711,
)


def lines_of(sockets: list[WatchedSocket], columns: str | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    return as_table(sockets).splitlines()


@pytest.mark.parametrize("columns", ["80", "100"])
def test_watch_shortens_names_with_a_sign(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head, long, short = lines_of([LONG, SHORT], columns, monkeypatch)
    assert len(head) == len(long) == len(short) <= int(columns)
    assert re.match(r"out \[2001\S*… ", long)
    shown = r"closed +cork 204 ms +12 +4711" if columns == "100" else "cork 204 ms +12"
    assert re.search(rf"in :8080 +ruby 1 +on +{shown}$", short)
    option = head.index("NODELAY")
    assert (long[option : option + 4], short[option : option + 3]) == ("off ", "on ")


def test_watch_cuts_no_name_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    head, long, short = lines_of([LONG, SHORT], None, monkeypatch)
    assert len(head) == len(long) == len(short)
    assert f"{LONG.name}  {LONG.process}  off" in long
    many = lines_of([SHORT] * 43, None, monkeypatch)
    assert (len(many), many[-1]) == (42, "and 3 more (-f json has all)")


@pytest.mark.parametrize("columns", ["20", "30", "40", "60"])
def test_few_columns_keep_the_name_the_option_and_the_holds(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head, long, short = lines_of([LONG, SHORT], columns, monkeypatch)
    assert all(len(line) <= int(columns) for line in (head, long, short))
    assert re.search(r"… +off +(- +)?0$", long)
    assert re.search(r" on +(closed +)?(cork 204 ms +)?12$", short)


@pytest.mark.parametrize("columns", ["30", "50", "80", "200"])
def test_the_doctors_report_keeps_its_rows(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    made, route = samples([sample(44, 43.5)] * 10), route_to("http://127.0.0.1/", "none")
    request = DoctorRequest.to(route, None, [])
    text = as_text(Examination(route, request, made, CONTROL, diagnose(made, CONTROL), ["a note " * 9]))
    assert all(len(line) <= int(columns) for line in text.splitlines())
    row = {
        "30": r"two writes, Nagl… +44.0 +43.5$",
        "50": r"two writes, Nagle on +10 +44.0 +44.0 +0.0 +43.5$",
    }.get(columns, r"two writes, Nagle on +10 +44.0 +44.0 +0.0 +43.5 +200  nagle_delayed_ack$")
    assert re.search(row, text, re.M), text


@pytest.mark.timed
def test_every_report_fits_thirty_columns() -> None:
    narrow = {"COLUMNS": "30"}
    server = Server()
    url = f"http://127.0.0.1:{server.port}/"
    python = Path(sys.executable).name
    for arguments in (
        ("check", "--", python, CLIENT[1], "split,nagle", "{url}"),
        ("check", "--", "true"),
        ("check", "--", python, str(Path(CLIENT[1]).with_name("server.py")), "split,nagle", "{port}"),
        ("watch", "--", python, CLIENT[1], "split,nagle", url),
        ("doctor", url, "--samples", "5"),
        ("explain",),
        ("explain", "OW105"),
    ):
        done = onewrite(*arguments, env=narrow)
        assert done.out, done.err
        assert max(map(len, done.out.splitlines())) <= 30, done.out
    server.close()


@pytest.mark.parametrize("command", ["check", "doctor", "watch", "explain", ""])
def test_help_fits_one_screen(command: str) -> None:
    lines = onewrite(*command.split(), "--help", env={"COLUMNS": "80"}).out.splitlines()
    assert len(lines) <= 24, "\n".join(lines)
    assert max(map(len, lines)) <= 80


def test_a_narrow_terminal_gets_short_lines() -> None:
    status, shown = on_a_terminal(["check", "--", *CLIENT, "split,nagle", "{url}"], columns=60)
    assert status == 1
    pieces = re.split(r"\r\n|\r\x1b\[K", shown)
    assert max(len(piece) for piece in pieces if piece.startswith(("  OW", "STALLS", "cure", "the controls"))) <= 60
    progress = [piece for piece in pieces if piece.startswith(CLIENT[0][:20])]
    assert progress
    assert all(len(piece) == 59 and piece.endswith("…") for piece in progress)


def test_a_pipe_gets_the_width_of_columns() -> None:
    wide, narrow = (onewrite("explain", "OW105", env={"COLUMNS": columns}).out for columns in ("200", "50"))
    assert max(map(len, narrow.splitlines())) <= 50 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()
