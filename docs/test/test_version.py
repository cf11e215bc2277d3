"""One version, in the file VERSION: another one in any manifest or pin is reported, and one command corrects it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: A file of each kind that names the version, in the form of the packages.
EXAMPLES = {
    "python/pyproject.toml": '[project]\nversion = "{}"\ndependencies = ["onewrite-lab=={}", "other==1.2.3"]\n',
    "cli/src/onewrite_cli/__init__.py": '__version__ = "{}"\n',
    "ruby/lib/onewrite/version.rb": 'module Onewrite\n  VERSION = "{}"\nend\n',
    "node/package.json": '{{\n  "name": "onewrite",\n  "version": "{}"\n}}\n',
    "node/src/version.js": "export const VERSION = '{}'\n",
    "java/core/pom.xml": "<artifactId>onewrite-core</artifactId>\n<version>{}</version>\n",
    "java/core/src/main/java/Onewrite.java": 'static final String VERSION = "{}";\n',
    "docs/page.md": "`pip install onewrite=={}`\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "version-check", tmp_path / ".ci")
    (tmp_path / "VERSION").write_text("1.2.3\n")
    for name, text in EXAMPLES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.format("1.2.3", "1.2.3"))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / ".ci" / "version-check"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_another_version_is_seen_in_each_file_and_corrected(tree: Path) -> None:
    assert check(tree).returncode == 0
    for name, text in EXAMPLES.items():
        (tree / name).write_text(text.format("9.8.7", "9.8.7"))
        done = check(tree)
        assert done.returncode == 1 and f"{name} says" in done.stderr and "9.8.7" in done.stderr, name
    assert check(tree, "--write").returncode == 0
    for name, text in EXAMPLES.items():
        assert (tree / name).read_text() == text.format("1.2.3", "1.2.3")


def test_a_manifest_without_a_version_and_a_version_that_is_none_are_errors(tree: Path) -> None:
    (tree / "node" / "package.json").write_text("{}\n")
    assert check(tree).returncode == 2
    (tree / "node" / "package.json").write_text(EXAMPLES["node/package.json"].format("1.2.3"))
    (tree / "VERSION").write_text("1.0\n")
    done = check(tree)
    assert done.returncode == 2 and "1.2.3" in done.stderr
