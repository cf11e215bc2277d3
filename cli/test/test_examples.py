"""The examples of docs/check-in-tests.md run as they stand, where their tools are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "check-in-tests.md").read_text()
PROGRAMS = ROOT / "cli" / "programs"


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert len(found) == 1
    return str(found[0])


def run(command: list[str], **env: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=110, env={**os.environ, "PATH": path, **env}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pytest(tmp_path: Path) -> None:
    pytest.importorskip("urllib3", reason="urllib3 is not installed here")
    file = tmp_path / "test_one_segment.py"
    python = {"PYTHONPATH": str(ROOT / "python" / "src")}
    file.write_text(block("python"))
    assert "1 passed" in run([sys.executable, "-m", "pytest", str(file)], **python)
    file.write_text(re.sub(r"onewrite\.install\(\).*\n", "", block("python")))
    with pytest.raises(AssertionError, match="1 failed"):
        run([sys.executable, "-m", "pytest", str(file)], **python)


def test_node(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    file = tmp_path / "segment.test.mjs"
    file.write_text(block("js"))
    assert "pass 1" in run(["node", "--no-warnings", "--test", str(file)])
    file.write_text(block("js").replace("segments === 1", "segments === 2"))
    with pytest.raises(AssertionError):
        run(["node", "--no-warnings", "--test", str(file)])


def test_minitest(tmp_path: Path) -> None:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    file = tmp_path / "segment_test.rb"
    file.write_text(block("ruby"))
    assert "1 runs, 1 assertions, 0 failures" in run(["ruby", "-I", str(ROOT / "ruby" / "lib"), str(file)])
    file.write_text(block("ruby").replace('require "onewrite"\n', ""))
    with pytest.raises(AssertionError, match="1 failures"):
        run(["ruby", str(file)])


@pytest.mark.programs
def test_junit(tmp_path: Path) -> None:
    jars = PROGRAMS / "java" / "target" / "jars"
    if not list(jars.glob("junit-platform-console-standalone-*.jar")) or shutil.which("javac") is None:
        pytest.skip("JUnit and OkHttp are not here: make -C cli programs")
    (tmp_path / "OneSegmentTest.java").write_text(block("java"))
    run(["javac", "-cp", f"{jars}/*", "-d", str(tmp_path), str(tmp_path / "OneSegmentTest.java")])
    path = os.pathsep.join([str(tmp_path), f"{jars}/*"])
    console = ["java", "-cp", path, "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner"]
    assert "1 tests successful" in run([*console, "-c", "OneSegmentTest"])
