"""The same check in four formats, with the same exit status."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import CLIENT, onewrite
from onewrite_cli.common.rules import RULES
from onewrite_cli.explain import explain


@pytest.mark.drawn
@pytest.mark.parametrize("form", ["text", "json", "junit", "github"])
def test_the_exit_status_does_not_depend_on_the_format(form: str) -> None:
    assert onewrite("check", "-f", form, "--requests", "3", "--rule", "stall=off", "--", *CLIENT, "fail", "{url}").status == 2


def test_junit_has_a_case_per_rule(tmp_path: Path) -> None:
    file = tmp_path / "reports" / "check.xml"
    done = onewrite(
        "check", "--strict", "-f", "junit", "-o", str(file), "--rule", "stall=off", "--", *CLIENT, "split,nagle", "{url}"
    )
    assert done.status == 1
    suite = ElementTree.parse(file).getroot()
    assert suite.get("tests") == "4"
    assert suite.get("failures") == "2"
    assert suite.get("skipped") == "2"
    failed = {case.get("name"): case.find("failure") for case in suite.iter("testcase") if case.find("failure") is not None}
    assert list(failed) == ["OW101 split-write", "OW102 nodelay"]
    told = failed["OW101 split-write"]
    assert told is not None
    assert "20 of 20 requests" in (told.get("message") or "")
    assert "cure:" in (told.text or "")


def test_junit_holds_whatever_a_command_prints() -> None:
    program = "import sys; sys.stdout.write('\\x1b[31m\\x00 & <oops> ]]>'); sys.exit(1)"
    done = onewrite("check", "-f", "junit", "--", "python3", "-c", program)
    suite = ElementTree.fromstring(done.out.partition("\n")[2])
    assert suite.get("errors") == "1"


def test_github_gets_annotations() -> None:
    done = onewrite("check", "--strict", "-f", "github", "--rule", "nodelay=warn", "--", *CLIENT, "split,nagle", "{url}")
    lines = done.out.splitlines()
    assert any(line.startswith("::error title=OW101 ") for line in lines)
    assert any(line.startswith("::warning title=OW102 ") for line in lines)


def test_explain_has_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    explain(None)
    listed = capsys.readouterr().out
    for rule in RULES:
        assert rule.id in listed
        explain(rule.id.lower())
        page = capsys.readouterr().out
        assert all(word in page for word in ("Decides:", "Cure:", "Seen by:"))
        explain(rule.name)
        assert capsys.readouterr().out == page
