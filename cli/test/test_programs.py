"""Programs of others, clients and servers: what is found is what is expected of each."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from conftest import conclusive, onewrite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

from servers import SERVERS, ServerProgram, found_in, run_server

CURL = ("curl", "-sS", "-d", "{body}")
CLIENTS = {
    "curl, one request each": ((), (*CURL, "{url}"), ()),
    "curl, 20 requests, one connection": ((), (*CURL, "{url}[1-20]"), ()),
    "curl, https": (("--tls",), (*CURL, "{url}[1-20]"), ()),
    "wget --post-file": ((), ("wget", "-q", "-O", "-", "--post-file={body_file}", "{url}"), ("OW101", "OW102", "OW105")),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_what_clients_show(name: str) -> None:
    options, command, found = CLIENTS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    report = conclusive(lambda: onewrite("check", "-f", "json", *options, "--", *command)).data
    assert found_in(report) == found, json.dumps(report, indent=1)
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
