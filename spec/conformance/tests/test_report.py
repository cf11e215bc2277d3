"""Reports: the words of the matrix, JUnit XML, the last lines on the console."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.report.compliance import word, write_compliance
from onewrite_conformance.report.console import print_summary
from onewrite_conformance.report.files import summary, write_junit
from onewrite_conformance.run.result import Result, Status


def result(
    status: str, adapter: str = "python", client: str = "onewrite", path: str = "a/onewrite/http/direct"
) -> Result:
    return Result(adapter, path, "a", client, "http", "direct", "TCP-1", status, ["why \x00"])


TCP_1 = Requirement("TCP-1", "Title", "x:1")


def test_words() -> None:
    assert word([result(Status.OK), result(Status.NOT_APPLICABLE)]) == "ok"
    assert word([result(Status.OK), result(Status.DEVIATES)]) == "no"
    assert word([result(Status.OK), result(Status.KNOWN)]) == "known"
    assert word([result(Status.KNOWN), result(Status.DEVIATES)]) == "no"
    assert word([result(Status.OK), result(Status.FAULT)]) == "cannot tell"
    assert word([result(Status.NOT_APPLICABLE)]) == word([]) == "–"


def test_reports(tmp_path: Path) -> None:
    results = [
        result(Status.OK),
        result(Status.DEVIATES),
        result(Status.FAULT),
        result(Status.KNOWN),
        result(Status.CANNOT_TELL),
    ]
    results.append(result(Status.DEVIATES, client="stock"))
    assert summary(results) == "1 passed, 2 failed, 2 skipped"
    write_junit(results, tmp_path / "x.xml", "x")
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "2"]
    requirements = {
        "TCP-1": TCP_1,
        "FOOT-1": Requirement("FOOT-1", "Title", "x:2", untestable="why"),
    }
    for one in results:
        one.base = f"the base of {one.client}"
    write_compliance(results, requirements, {"python": "urllib3"}, tmp_path / "C.md")
    lines = (tmp_path / "C.md").read_text().splitlines()
    assert "Versions: the base of onewrite; the base of stock." in lines
    assert lines[-4:] == [
        "| | | urllib3 | python |",
        "|---|---|---|---|",
        "| TCP-1 | Title | no | no |",
        "| FOOT-1 | Title | tests | tests |",
    ]


def test_the_last_lines_name_each_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lucky, failed = result(Status.OK, path="lucky"), result(Status.DEVIATES, path="failed")
    lucky.unsteady = "a reason"
    print_summary([failed, lucky, result(Status.OK, path="good")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "FAILED python: failed: why \x00"
    assert "UNSTEADY python: lucky passed when judged again; at first: a reason" in lines
    write_junit([lucky], tmp_path / "x.xml", "x")
    assert 'flakyFailure message="a reason"' in (tmp_path / "x.xml").read_text()
