"""Programs of others, clients and servers: what is found is what is expected of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from conftest import conclusive, onewrite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

from clients import CLIENTS, ClientProgram
from servers import SERVERS, ServerProgram, found_in, run_server

BY_DAY = ("curl -d", "wget --post-file")


@pytest.mark.parametrize(
    "program",
    [pytest.param(one, id=one.name, marks=[] if one.name in BY_DAY else pytest.mark.programs) for one in CLIENTS],
)
def test_what_clients_show(program: ClientProgram) -> None:
    if not program.needs():
        pytest.skip("not installed")
    report = conclusive(lambda: onewrite("check", "-f", "json", *program.options, "--", *program.command)).data
    assert found_in(report) == program.found, json.dumps(report, indent=1)
    assert report["problem"] is None
    assert report["requests"] >= 20
    assert "pidfd_getfd" in report["witness"]


@pytest.mark.programs
@pytest.mark.parametrize("program", SERVERS, ids=lambda one: f"{one.server}, {one.condition}")
def test_what_servers_show(program: ServerProgram) -> None:
    if not program.needs():
        pytest.skip("not installed: make -C cli programs")
    report = run_server(program)
    assert found_in(report) == program.found, json.dumps(report, indent=1)
    assert report["problem"] is None
    assert "pidfd_getfd" in report["witness"]
