"""The line of the README that installs from a clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".venv", "build", "target", "node_modules", "*.egg-info", "__pycache__", ".*_cache")


@pytest.mark.slow
def test_the_readme_installs_what_it_says(tmp_path: Path) -> None:
    (line,) = re.findall(
        r"^python3 .* && build/venv-cli/bin/pip install (\./\S+ \./\S+)$", (ROOT / "cli" / "README.md").read_text(), re.M
    )
    folders = [tmp_path / folder for folder in line.split()]
    for folder in folders:
        shutil.copytree(ROOT / folder.relative_to(tmp_path), folder, ignore=LEFT_OUT)
    installed = tmp_path / "installed"
    # Without dependencies, which are those of this environment: no registry is needed.
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", str(installed)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *map(str, folders)], check=True)
    program = (
        "import sys, onewrite_cli, onewrite_lab; print(onewrite_cli.__file__, onewrite_lab.__file__, flush=True); "
        "from onewrite_cli.app import main; sys.exit(main(['check', '-f', 'json', '--', 'true']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(installed)}, cwd=tmp_path, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.count(str(installed)) == 2, done.stderr
    assert done.returncode == 2
    assert "no request came" in done.stdout
