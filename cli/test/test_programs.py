"""Programs of others, clients and servers: what is found is what is expected of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from conftest import conclusive, onewrite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

from clients import CLIENTS, ClientProgram, verdict_of
from servers import SERVERS, ServerProgram, found_in, run_server

BY_DAY = ("curl -d", "wget --post-file")


@pytest.mark.parametrize(
    "program",
    [pytest.param(one, id=one.name, marks=[] if one.name in BY_DAY else pytest.mark.programs) for one in CLIENTS],
)
def test_what_clients_show(program: ClientProgram) -> None:
    if not program.needs():
        pytest.skip("not installed: make -C cli programs")
    report = conclusive(lambda: onewrite("check", "-f", "json", *program.options, "--", *program.command)).data
    assert verdict_of(report) == program.expected, json.dumps(report, indent=1)
    assert report["exit_status"] == int(program.expected.startswith("STALLS"))
    assert report["problem"] is None
    assert report["requests"] >= 20
    assert "pidfd_getfd" in report["witness"]


def test_the_table_has_enough_of_both() -> None:
    sick = sum(one.expected.startswith("STALLS") for one in CLIENTS)
    assert sick >= 15
    assert len(CLIENTS) - sick >= 20
    assert len({one.name for one in CLIENTS}) == len(CLIENTS)


@pytest.mark.programs
@pytest.mark.parametrize("program", SERVERS, ids=lambda one: f"{one.server}, {one.condition}")
def test_what_servers_show(program: ServerProgram) -> None:
    if not program.needs():
        pytest.skip("not installed: make -C cli programs")
    report = run_server(program)
    assert found_in(report) == program.found, json.dumps(report, indent=1)
    assert report["problem"] is None
    assert "pidfd_getfd" in report["witness"]
