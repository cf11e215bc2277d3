"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from onewrite_conformance.cli import main

RUN = "wire/1/post-200b/onewrite/http/direct"


def judged(folder: Path, *arguments: str) -> int:
    return main([*arguments, "--no-stock", "--reports", str(folder)])


def test_trace_shows_the_wire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, RUN, "--reference", "--trace") == 0
    printed = capsys.readouterr().out
    for part in (
        f"== reference {RUN}",
        "> 2",
        "POST / HTTP/1.1",
        "complete: 1 segments",
        " ms  c0 ",
        "-> ok",
        "1 passed",
    ):
        assert part in printed


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_results_are_written(tmp_path: Path, jobs: str) -> None:
    assert judged(tmp_path, "--reference", "cfg/13", "--jobs", jobs, "--quiet") == 0
    suite = ElementTree.parse(tmp_path / "judge-reference.xml").getroot()
    passed = [case.get("name") or "" for case in suite.iter("testcase") if case.find("skipped") is None]
    assert {name.split("/")[3] for name in passed} == {"onewrite"}
    assert len(passed) == len(set(passed)) > 10
    assert suite.get("failures") == suite.get("errors") == "0"


def test_a_mutant_ends_in_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, "--break", "split", RUN, "--quiet") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.match(rf"FAILED reference: {RUN}: segments: [2-9], not 1", last)  # the kernel may send one twice


def test_any_driver_from_a_plain_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = f"{sys.executable} -m onewrite_conformance.reference"
    assert judged(tmp_path, "--driver", driver, "--client", "onewrite", RUN, "--quiet") == 0
    assert judged(tmp_path, "--driver", f"{sys.executable} -c 'print(1)'", RUN) == 1
    printed = capsys.readouterr().out
    assert "DRIVER FAULT driver" in printed
    assert "noise: stdout carried something that is no protocol message" in printed


def test_environment_for_the_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = "ONEWRITE_COALESCE_DISABLED=true"
    assert judged(tmp_path, RUN, "--reference", "--env", pair, "--quiet") == 1
    assert re.search("segments: [2-9], not 1", capsys.readouterr().out)
