"""One version, in the file VERSION: a different one anywhere is reported, and one command corrects it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / ".ci" / "version-check"
FILES = ["VERSION", ".ci/version-check", "java/Makefile", "java/README.md", "java/pom.xml", "bench/jmh/pom.xml",
         "java/opentelemetry/src/main/java/io/github/onewrite/opentelemetry/OnewriteOpenTelemetry.java",
         "python/pyproject.toml", "python/src/onewrite/_version.py", "ruby/lib/onewrite/version.rb",
         "node/package.json", "node/package-lock.json", "node/src/version.js", "cli/pyproject.toml", "cli/src/onewrite_cli/__init__.py",
         "spec/lab/pyproject.toml", "spec/lab/src/onewrite_lab/__init__.py",
         "spec/conformance/pyproject.toml", "spec/conformance/src/onewrite_conformance/__init__.py", "cli/README.md"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that carry the version, and the check itself, in a folder of their own."""
    for file in [*(ROOT / name for name in FILES), *(ROOT / "java").glob("*/pom.xml")]:
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return tmp_path


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / ".ci" / "version-check"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def carriers(tree: Path) -> list[Path]:
    return sorted(path for path in tree.rglob("*") if path.is_file() and path.name not in ("VERSION", "version-check", "Makefile"))


def test_this_tree_has_one_version() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


def test_drift_of_any_single_file_is_seen(tree: Path) -> None:
    version = (tree / "VERSION").read_text().strip()
    assert check(tree).returncode == 0
    for file in carriers(tree):
        text = file.read_text()
        file.write_text(re.sub(rf"(?<![\d.]){re.escape(version)}(?![\d.])", "9.8.7", text))
        done = check(tree)
        assert done.returncode == 1, f"{file} drifted and nobody said so"
        assert str(file.relative_to(tree)) in done.stderr and "9.8.7" in done.stderr
        file.write_text(text)
    assert check(tree).returncode == 0


def test_a_new_version_is_written_everywhere(tree: Path) -> None:
    (tree / "VERSION").write_text("7.6.5\n")
    done = check(tree)
    assert done.returncode == 1
    for file in carriers(tree):
        assert str(file.relative_to(tree)) in done.stderr
    assert check(tree, "--write").returncode == 0
    assert check(tree).returncode == 0


def test_a_place_without_a_version_and_a_version_that_is_none_are_errors(tree: Path) -> None:
    (tree / "node" / "package.json").write_text("{}\n")
    assert check(tree).returncode == 2
    shutil.copy(ROOT / "node" / "package.json", tree / "node" / "package.json")
    (tree / "VERSION").write_text("1.0\n")
    done = check(tree)
    assert done.returncode == 2 and "1.2.3" in done.stderr


def test_built_packages_are_of_this_version_and_complete(tree: Path) -> None:
    version = (tree / "VERSION").read_text().strip()
    folder = tree / "built"
    done = check(tree, "--packages", str(folder))
    assert done.returncode == 1
    for line in done.stderr.splitlines():
        language, name = re.fullmatch(r"(\w+): (\S+) was not built", line).groups()
        assert version in name
        (folder / language).mkdir(parents=True, exist_ok=True)
        (folder / language / name).touch()
    assert check(tree, "--packages", str(folder)).returncode == 0
    (folder / "ruby" / "onewrite-9.8.7.gem").touch()
    done = check(tree, "--packages", str(folder))
    assert done.returncode == 1 and "9.8.7" in done.stderr
