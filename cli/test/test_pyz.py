"""onewrite.pyz runs without any package beside Python's; `make pyz-smoke` tries all of it in a bare Debian."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CLIENT, clean_environment

TOOL = Path(__file__).resolve().parents[1] / "tools" / "pyz"


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pyz") / "onewrite.pyz"
    subprocess.run([TOOL, file], check=True)
    return file


def run(pyz: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With -S there is no site-packages: Python alone runs it."""
    command = [sys.executable, "-I", "-S", str(pyz), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)


def test_over_tls_the_openssl_program_makes_the_certificate(pyz: Path) -> None:
    done = run(pyz, "check", "--strict", "-f", "json", "--rule", "stall=off", "--tls", "--", *CLIENT, "split", "{url}")
    assert done.returncode == 1, done.stderr
    states = {finding["rule"]: finding["state"] for finding in json.loads(done.stdout)["findings"]}
    assert (states["OW101"], states["OW103"]) == ("found", "found")


def test_it_starts(pyz: Path) -> None:
    assert run(pyz, "explain").stdout.startswith("OW101")


def test_without_openssl_it_says_what_is_missing(pyz: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(pyz, "check", "--tls", "--", *CLIENT, "none", "{url}")
    assert (done.returncode, "openssl program" in done.stderr) == (3, True)


def test_the_same_sources_make_the_same_file(pyz: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    subprocess.run([TOOL, again], check=True)
    first, second = (hashlib.sha256(file.read_bytes()).hexdigest() for file in (pyz, again))
    assert first == second
