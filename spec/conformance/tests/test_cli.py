"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import shlex
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from conftest import JOINED
from onewrite_conformance.cli import main

RUN = "wire/1/post-4k/onewrite/http/direct"
DRIVER = ["--driver", shlex.join(JOINED), "--client", "onewrite"]


def judged(folder: Path, *arguments: str) -> int:
    return main([*arguments, "--no-stock", "--reports", str(folder)])


def test_trace_shows_the_wire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, RUN, *DRIVER, "--trace") == 0
    printed = capsys.readouterr().out
    for part in (f"== driver {RUN}", "> 4", "POST / HTTP/1.1", "complete: 1 segments", " ms  c0 ", "-> ok", "1 passed"):
        assert part in printed


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_results_are_written(tmp_path: Path, jobs: str) -> None:
    assert judged(tmp_path, *DRIVER, "wire/1/post*", "--jobs", jobs, "--quiet") == 0
    suite = ElementTree.parse(tmp_path / "judge-driver.xml").getroot()
    passed = [case.get("name") or "" for case in suite.iter("testcase") if case.find("skipped") is None]
    assert {name.split("/")[3] for name in passed} == {"onewrite"}
    assert len(passed) == len(set(passed)) > 4
    assert suite.get("failures") == suite.get("errors") == "0"


def test_a_broken_client_ends_in_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = ["--driver", shlex.join([*JOINED, "split"]), "--client", "onewrite"]
    assert judged(tmp_path, *broken, RUN, "--quiet") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"FAILED driver: {RUN}: segments: 2, not 1")


def test_noise_is_a_driver_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, "--driver", f"{sys.executable} -c 'print(1)'", RUN) == 1
    printed = capsys.readouterr().out
    assert "DRIVER FAULT driver" in printed
    assert "noise: stdout carried something that is no protocol message" in printed
