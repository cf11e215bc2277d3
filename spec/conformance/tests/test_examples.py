"""The example drivers work: the judge passes and fails each of them where it should."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.places import CONFORMANCE
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import Adapter, of_command
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.known import KnownFailures
from onewrite_conformance.run.result import Status

EXAMPLES = CONFORMANCE / "examples"
PASSED = [
    "wire/1/example-2/stock/http/direct",
    "wire/1/post-none/stock/https/direct",
    "same/7/timed-out/stock/http/direct",
]
SMALL = "wire/1/post-200b/stock/http/direct"
LARGE = "wire/1/boundary-below/stock/http/direct"
RECORD = "wire/4/boundary-above/stock/https/direct"


def statuses(adapter: Adapter, paths: list[str], cases: list[Case], known: dict[str, Requirement]) -> dict[str, str]:
    clients = sorted({path.split("/")[3] for path in paths})
    with Judge(adapter, cases, clients=clients, only=paths) as judge:
        results = list(judge.results())
        judge.finish(results)
    assert {result.path for result in results} == set(paths)
    return {result.path: result.status for result in results}


def test_http_tiny(contract: tuple[list[Case], dict[str, Requirement]]) -> None:
    # HTTP::Tiny writes head and body apart, and does not set TCP_NODELAY.
    adapter = of_command(f"perl {EXAMPLES / 'http_tiny_driver.pl'}")
    passed = PASSED[0]
    assert statuses(adapter, [passed, SMALL], *contract) == {passed: Status.OK, SMALL: Status.DEVIATES}


@pytest.mark.parametrize(("clients", "judged"), [(["stock"], True), (None, False)])
def test_a_folder_is_judged_by_its_stock_client_where_that_is_named(
    contract: tuple[list[Case], dict[str, Requirement]], tmp_path: Path, clients: list[str] | None, judged: bool
) -> None:
    run = tmp_path / "mine" / "driver" / "run"
    run.parent.mkdir(parents=True)
    run.write_text(f"#!/bin/sh\nexec perl {EXAMPLES / 'http_tiny_driver.pl'}\n")
    run.chmod(0o755)
    with Judge(of_command(str(tmp_path / "mine")), contract[0], clients=clients, only=[SMALL]) as judge:
        (result,) = [one for one in judge.results() if one.client == "stock"]
    assert (result.status, result.judged, result.failing) == (Status.DEVIATES, judged, judged)


def test_net_http(contract: tuple[list[Case], dict[str, Requirement]]) -> None:
    if "WHOLE" not in os.environ or shutil.which("go") is None:
        pytest.skip("Go's example driver takes minutes to build: make nightly")
    adapter = of_command(str(EXAMPLES / "net_http"))
    adapter.known = KnownFailures(None)
    # The first start builds the driver.
    subprocess.run(adapter.command, check=True, stdin=subprocess.DEVNULL, timeout=500)
    # net/http writes through a buffer of 4 KiB, which judge.yaml says; the client `onewrite` has a larger one.
    wide = [SMALL, LARGE, RECORD]
    assert statuses(adapter, [*PASSED, *wide], *contract) == dict.fromkeys([*PASSED, *wide], Status.OK)
    adapter.limits = {}
    assert statuses(adapter, [LARGE, RECORD], *contract) == dict.fromkeys([LARGE, RECORD], Status.DEVIATES)
    cured = [path.replace("/stock/", "/onewrite/") for path in wide]
    assert statuses(adapter, cured, *contract) == dict.fromkeys(cured, Status.OK)
