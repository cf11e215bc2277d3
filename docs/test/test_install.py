"""The install lines of the pages work: each line for a clone is run, and what it installed is used once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import install
import links

ROOT = install.ROOT
DATA = yaml.safe_load(install.SOURCE.read_text(encoding="utf-8"))
#: What is there afterwards, and answers.
WORKS = {
    "python": "python -c 'import onewrite; print(onewrite.__version__)'",
    "ruby": """ruby -e 'require "onewrite"; puts Onewrite::VERSION'""",
    "node": "cd ../your-project && node -e 'import(\"onewrite\").then(({ Agent }) => console.log(Agent.name))'",
    "java": "ls build/packages/java/io/github/onewrite/onewrite-core/*/*.jar",
    "cli": "onewrite --version",
}
NEEDS = {"ruby": "gem", "node": "npm", "java": "mvn"}


def clone(folder: Path) -> Path:
    """The files of this repository as a fresh clone has them, with what a set-up has fetched for Node."""
    target = folder / "onewrite"
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in names.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


#: Those whose build the package steps of `make test` try, too; these take minutes.
LONG = ("java", "node", "cli")


@pytest.mark.parametrize("package", [pytest.param(one, marks=pytest.mark.nightly if one in LONG else ()) for one in DATA["packages"]])
def test_the_lines_for_a_clone_install_it(package: str, tmp_path: Path) -> None:
    if package in NEEDS and shutil.which(NEEDS[package]) is None:
        pytest.skip(f"{NEEDS[package]} is not installed")
    here = clone(tmp_path)
    (tmp_path / "your-project").mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    gems = tmp_path / "gems"
    env["PATH"] = f"{tmp_path / 'venv' / 'bin'}:{gems / 'bin'}:{env['PATH']}"
    env |= {"GEM_HOME": str(gems), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for line in [*DATA["packages"][package]["clone"], WORKS[package]]:
        done = subprocess.run(["bash", "-euc", line], cwd=here, env=env, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert done.stdout.strip()


def test_the_pages_hold_the_lines() -> None:
    assert install.main(["--check"]) == 0
    assert "<!-- install:all:begin -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_release_turns_them_into_the_registries_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(links, "ROOT", tmp_path)
    monkeypatch.setattr(install, "SOURCE", tmp_path / "install.yaml")
    install.SOURCE.write_text(re.sub(r"released: \w+", "released: false", (ROOT / "docs" / "install.yaml").read_text(encoding="utf-8")))
    page = tmp_path / "page.md"
    page.write_text("# Page\n<!-- install:python:begin -->\nold\n<!-- install:python:end -->\nrest\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert install.main(["--check"]) == 1
    assert install.main([]) == 0
    assert "pip install ./python\n" in page.read_text()
    assert install.main(["--released"]) == 0
    assert "```sh\npip install onewrite\n```" in page.read_text() and page.read_text().endswith("rest\n")
    assert install.main(["--check"]) == 0
