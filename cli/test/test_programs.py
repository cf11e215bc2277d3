"""Real HTTP clients: what is found is what is expected of each. `make programs-test` installs them and runs all."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

from programs import PROGRAMS, Program, found_in, run
from servers import SERVERS, ServerProgram, run_server

#: Those that need nothing but what is on most machines run with every `make test`.
SHORT = {"curl", "wget"}


def hold(program: Program) -> None:
    if not program.needs():
        pytest.skip("not installed: make -C cli programs")
    report = run(program)
    assert found_in(report) == program.found, json.dumps(report, indent=1)
    assert report["problem"] is None
    assert report["requests"] >= 20
    assert "pidfd_getfd" in report["witness"]


def named(program: Program) -> str:
    return f"{program.library}, {program.condition}{', with onewrite' if program.onewrite else ''}"


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.library in SHORT], ids=named)
def test_what_is_everywhere(program: Program) -> None:
    hold(program)


@pytest.mark.programs
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.library not in SHORT], ids=named)
def test_what_is_found(program: Program) -> None:
    hold(program)


@pytest.mark.programs
@pytest.mark.parametrize("program", SERVERS, ids=lambda one: f"{one.server}, {one.condition}")
def test_what_servers_show(program: ServerProgram) -> None:
    if not program.needs():
        pytest.skip("not installed: make -C cli programs")
    report = run_server(program)
    assert found_in(report) == program.found, json.dumps(report, indent=1)
    assert report["problem"] is None
    assert "pidfd_getfd" in report["witness"]
