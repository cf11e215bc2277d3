"""One version, in the file VERSION: a different one anywhere is reported, and one command corrects it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Each carries the version; the check finds them, and any other of their kind.
CARRIERS = [
    "java/README.md", "java/pom.xml", "java/core/pom.xml", "java/bom/pom.xml",
    "java/opentelemetry/src/main/java/io/github/onewrite/opentelemetry/OnewriteOpenTelemetry.java",
    "python/pyproject.toml", "python/src/onewrite/_version.py", "ruby/lib/onewrite/version.rb",
    "node/package.json", "node/package-lock.json", "node/src/version.js", "cli/pyproject.toml", "cli/src/onewrite_cli/__init__.py",
    "spec/lab/pyproject.toml", "spec/lab/src/onewrite_lab/__init__.py",
    "spec/conformance/pyproject.toml", "spec/conformance/src/onewrite_conformance/__init__.py",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that carry the version, and the check itself, in a separate folder."""
    for name in ["VERSION", ".ci/version-check", *CARRIERS]:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / ".ci" / "version-check"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_this_tree_has_one_version() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


def test_drift_of_any_single_file_is_seen(tree: Path) -> None:
    version = (tree / "VERSION").read_text().strip()
    assert check(tree).returncode == 0
    for name in CARRIERS:
        text = (tree / name).read_text()
        (tree / name).write_text(re.sub(rf"(?<![\d.]){re.escape(version)}(?![\d.])", "9.8.7", text))
        done = check(tree)
        assert done.returncode == 1 and f"{name} says" in done.stderr and "9.8.7" in done.stderr, f"{name} drifted, and nothing was printed"
        (tree / name).write_text(text)


def test_a_new_version_is_written_everywhere(tree: Path) -> None:
    old = (tree / "VERSION").read_text().strip()
    (tree / "VERSION").write_text("7.6.5\n")
    # A package that nobody listed, and a pin on another of ours.
    (tree / "extra").mkdir()
    pins = f'dependencies = ["onewrite-lab=={old}", "other=={old}"]'
    (tree / "extra" / "pyproject.toml").write_text(f'[project]\nversion = "{old}"\n{pins}\n')
    done = check(tree)
    assert done.returncode == 1
    for name in [*CARRIERS, "extra/pyproject.toml"]:
        assert name in done.stderr
    assert check(tree, "--write").returncode == 0
    assert check(tree).returncode == 0
    assert (tree / "extra" / "pyproject.toml").read_text().endswith(f'"onewrite-lab==7.6.5", "other=={old}"]\n')
    assert "onewrite-lab==7.6.5" in (tree / "spec" / "conformance" / "pyproject.toml").read_text()


def test_a_place_without_a_version_and_a_version_that_is_none_are_errors(tree: Path) -> None:
    (tree / "node" / "package.json").write_text("{}\n")
    assert check(tree).returncode == 2
    shutil.copy(ROOT / "node" / "package.json", tree / "node" / "package.json")
    (tree / "VERSION").write_text("1.0\n")
    done = check(tree)
    assert done.returncode == 2 and "1.2.3" in done.stderr
