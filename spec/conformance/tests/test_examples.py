"""The example drivers work: the judge passes and fails each of them where it should."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.places import CONFORMANCE
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Status

EXAMPLES = CONFORMANCE / "examples"
PASSED = [
    "example-wire-6-2/stock/http/direct",
    "pool-reuse/stock/http/direct",
    "err-refused/stock/http/direct",
    "sec-value-crlf/stock/http/direct",
    "sec-certificate-name/stock/https/direct",
]
SMALL = "wire-post-200b/stock/http/direct"
LARGE = "wire-boundary-below/stock/http/direct"


def statuses(command: list[str], paths: list[str], cases: list[Case], known: dict[str, Requirement]) -> dict[str, str]:
    with Judge(Adapter("driver", command, witness=False), cases, known, clients=["stock"], only=paths) as judge:
        results = list(judge.results())
        judge.finish(results)
    assert {result.path for result in results} == set(paths)
    return {result.path: result.status for result in results}


def test_http_client(contract: tuple[list[Case], dict[str, Requirement]]) -> None:
    # http.client sends the head, then the body (HTTPConnection._send_output).
    driver = [sys.executable, str(EXAMPLES / "http_client_driver.py")]
    found = statuses(driver, [*PASSED, SMALL, LARGE], *contract)
    assert found == dict.fromkeys(PASSED, Status.OK) | {SMALL: Status.DEVIATES, LARGE: Status.DEVIATES}


def test_net_http(contract: tuple[list[Case], dict[str, Requirement]], tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: its example driver cannot be built")
    driver = tmp_path / "driver"
    build = [go, "build", "-o", str(driver), str(EXAMPLES / "net_http_driver.go")]
    offline = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "off"}
    subprocess.run(build, check=True, cwd=tmp_path, env=os.environ | offline, timeout=500)
    # net/http writes through a buffer of 4 KiB (http.Transport), so a larger request is several writes.
    found = statuses([str(driver)], [*PASSED, SMALL, LARGE], *contract)
    assert found == dict.fromkeys(PASSED, Status.OK) | {SMALL: Status.OK, LARGE: Status.DEVIATES}
