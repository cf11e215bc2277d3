"""The install lines of the README work, in a fresh clone: each package is installed as the lines say, and used once.

`make -C docs install-lines` tries them as a user of a bare Debian 12, which takes minutes and root.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.search(r"^## Install\n.*?^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
#: What uses each package afterwards, by the first word of its comment; and the command that its lines need.
WORKS = {
    "Python": ("python3", "build/venv/bin/python -c 'import onewrite, requests; print(onewrite.__version__)'"),
    "Ruby": ("gem", """ruby -e 'require "onewrite"; puts Onewrite::VERSION'"""),
    "Node": ("npm", "cd ../your-project && node -e 'import(\"onewrite\").then(({ Agent }) => console.log(Agent.name))'"),
    "Java": ("mvn", "ls build/packages/java/io/github/onewrite/onewrite-core/*/*.jar"),
    "the": ("python3", "build/venv-cli/bin/onewrite --version"),
}


def lines() -> dict[str, list[str]]:
    """The commands of the block, by the first word of the comment above them."""
    assert BLOCK is not None
    found: dict[str, list[str]] = {}
    for line in BLOCK[1].splitlines():
        if line.startswith("# "):
            found[name := re.split(r"[ ,:]", line[2:])[0]] = []
        else:
            found[name].append(line)
    return found


def clone(folder: Path) -> Path:
    """The files of this repository as a fresh clone has them."""
    target = folder / "onewrite"
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in names.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def test_each_package_has_its_lines() -> None:
    assert lines().keys() == WORKS.keys()


# `make package` installs each package from the built file; these take minutes.
@pytest.mark.nightly
@pytest.mark.parametrize("package", WORKS)
def test_the_lines_for_a_clone_install_it(package: str, tmp_path: Path) -> None:
    command, use = WORKS[package]
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    here = clone(tmp_path)
    (tmp_path / "your-project").mkdir()
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    # The user's gems, in a folder of the test.
    env |= {"GEM_HOME": str(tmp_path / "gems"), "HOME": str(tmp_path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"} if package == "Ruby" else {}
    for line in [*lines()[package], use]:
        done = subprocess.run(["bash", "-euc", line], cwd=here, env=env, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert done.stdout.strip()


#: What the README takes for granted, with a Node that is new enough: Debian 12 has 18.
BARE = "git,make,python3-venv,ruby,openjdk-17-jdk-headless,maven,libatomic1"
AS_USER = "setpriv --reuid=user --regid=user --clear-groups env HOME=/home/user PATH=/home/user/node/bin:$PATH bash -euc"


@pytest.mark.nightly
def test_the_lines_install_each_package_for_a_user_of_a_bare_debian() -> None:
    shared = ROOT / "build" / "install-lines"  # the bare Debian sees this repository, and nothing else of this machine
    shutil.rmtree(shared, ignore_errors=True)
    clone(shared)
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        (shared / "node" / "bin").mkdir(parents=True)
        shutil.copy2(node, shared / "node" / "bin" / "node")
        shutil.copytree(Path(npm).resolve().parents[1], shared / "node" / "lib" / "node_modules" / "npm", symlinks=True)
        (shared / "node" / "bin" / "npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
    script = ["set -eu", "id user >/dev/null 2>&1 || useradd -m user", "rm -rf /home/user/*", f"cp -r {shared}/. /home/user/"]
    script += ["mkdir -p /home/user/your-project", "chown -R user:user /home/user", "cd /home/user/onewrite"]
    for package, (_, use) in WORKS.items():
        if package == "Node" and not (node and npm):
            continue
        script += [f"echo '== {package}' >&2", f"{AS_USER} {shlex.quote(chr(10).join([*lines()[package], use]))}"]
    (shared / "script").write_text("\n".join(script) + "\n")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MAKE", "MFLAGS", "ONEWRITE"))}
    command = [str(ROOT / ".ci" / "in-debian"), "install-lines", BARE, "bash", str(shared / "script")]
    done = subprocess.run(command, env={**env, "SUITE": "bookworm"}, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode == 3:
        pytest.skip("no bare Debian can be made here")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
