"""Reports: the words of the matrix, JUnit XML, the last lines on the console."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.report.compliance import word, write_compliance
from onewrite_conformance.report.console import close
from onewrite_conformance.report.files import summary, write_junit
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.settle import settle


def result(
    status: str, adapter: str = "python", client: str = "onewrite", path: str = "a/onewrite/http/direct"
) -> Result:
    return Result(adapter, path, "a", client, "http", "direct", "TCP-1", "MUST", status, ["why \x00"])


TCP_1 = Requirement("TCP-1", "Title", "x:1", "MUST", "It MUST.")
TCP_10 = Requirement("TCP-10", "Title", "x:9", "SHOULD", "It SHOULD.")


def test_words() -> None:
    assert word([result(Status.OK), result(Status.NOT_APPLICABLE)], TCP_1) == "ok"
    assert word([result(Status.OK), result(Status.DEVIATES)], TCP_1) == "deviates"
    assert word([result(Status.OK), result(Status.DEVIATES)], TCP_10) == "warns"
    assert word([result(Status.OK), result(Status.KNOWN)], TCP_1) == "deviates"
    assert word([result(Status.OK), result(Status.FAULT)], TCP_1) == "cannot tell"
    assert word([result(Status.NOT_APPLICABLE)], TCP_1) == "not applicable"
    assert word([], TCP_1) == "not judged"


def test_reports(tmp_path: Path) -> None:
    results = [
        result(Status.OK),
        result(Status.DEVIATES),
        result(Status.FAULT),
        result(Status.KNOWN),
        result(Status.WARNS),
    ]
    results.append(result(Status.DEVIATES, client="stock"))
    assert summary(results) == "2 passed, 2 failed, 1 skipped"
    write_junit(results, tmp_path / "x.xml", "x")
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "1"]
    requirements = {
        "TCP-1": TCP_1,
        "FOOT-1": Requirement("FOOT-1", "Title", "x:2", "MUST", "It MUST.", untestable="why"),
    }
    results.append(result(Status.NOT_APPLICABLE, client="httpx", path="n"))
    results[-1].notes = ["no capability queue"]
    for one in results:
        one.base = "a base"
    results[3].notes = ["known: the reason"]
    lucky = result(Status.OK, path="lucky")
    lucky.wavered = "differed in 1 of 3 plays: bytes"
    write_compliance([*results, lucky], requirements, [], {"python": "urllib3"}, tmp_path / "C.md")
    lines = (tmp_path / "C.md").read_text().splitlines()
    assert "| | stock | onewrite | httpx |" in lines
    assert "| TCP | 1 deviates | 1 deviates | 1 not applicable |" in lines
    assert "The base library alone deviates from TCP-1." in lines
    assert "- `a` (onewrite, not a known failure): why \x00" in lines
    assert "- httpx lacks queue (TCP-1)" in lines
    assert "- `lucky`: differed in 1 of 3 plays: bytes" in lines
    assert "No case can show FOOT-1: the tests of each language cover it." in lines


def test_the_last_lines_name_each_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lucky, failed = result(Status.DEVIATES, path="lucky"), result(Status.DEVIATES, path="failed")
    settle(lucky, lambda: result(Status.OK, path="lucky"))
    close([failed, lucky, result(Status.OK, path="good")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "FAILED python: failed: why \x00"
    assert any(line.startswith("UNSTEADY python: lucky: failed 1 of 4, settled") for line in lines)
    assert summary([failed, lucky]) == "1 passed, 1 failed, 0 skipped"
    write_junit([lucky], tmp_path / "x.xml", "x")
    assert "failed 1 of 4, settled" in (tmp_path / "x.xml").read_text()
