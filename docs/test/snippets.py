"""Runs a code block of a page in its language, against a local server that counts segments."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "proxies"))

from origin import Origin  # noqa: E402

PLACE = "http://127.0.0.1:8080"
TIMES = 20
# The last answer may still be on its way when its head has come; kept connections would keep the process.
END = "}\nsetTimeout(() => process.exit(0), 300)\n"
#: What a timing record prints.
LINE = r"POST http://\S+ 200 in [\d.]+ ms"


def modules(code: str) -> list[str]:
    return [name for name in re.findall(r"^import .*?from '([^']+)'", code, re.MULTILINE) if not name.startswith("onewrite")]


def repeated(code: str, head: str, tail: str) -> str:
    """The recipe with its last line, the POST, in a loop; everything before it runs once, as in a service."""
    before, _, last = code.rstrip("\n").rpartition("\n")
    return f"{before}\n{head}{last.strip()}\n{tail}"


def python(code: str, folder: Path) -> list[str]:
    (folder / "recipe.py").write_text(repeated(code, f"for _ in range({TIMES}):\n    ", ""))
    return [str(ROOT / "docs" / ".venv" / "bin" / "python"), "recipe.py"]


def ruby(code: str, folder: Path) -> list[str]:
    found = shutil.which("ruby")
    if found is None:
        pytest.skip("ruby is not installed: sudo apt-get install ruby")
    for name in set(re.findall(r'require "([^"]+)"', code)) - {"onewrite"}:
        done = subprocess.run([found, "-W0", "-e", f"require {name!r}"], capture_output=True, timeout=60, check=False)
        if done.returncode:
            pytest.skip(f"Ruby's {name} is not installed")
    (folder / "recipe.rb").write_text(repeated(code, f"{TIMES}.times {{ ", "}\n"))
    return [found, "-W0", "-I", str(ROOT / "ruby" / "lib"), "recipe.rb"]


def node(code: str, folder: Path) -> list[str]:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    installed = ROOT / "node" / "node_modules"
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "onewrite").symlink_to(ROOT / "node")
    for name in modules(code):
        if not (installed / name).is_dir():
            pytest.skip(f"Node's {name} is not installed: make -C node setup")
        (folder / "node_modules" / name).symlink_to(installed / name)
    # An answer must be read for its call to end, as an application would.
    last = "const answer = " if "await fetch(" in code else ""
    read = "; await answer.text()" if last else ""
    code = re.sub(r"await (fetch.*)$", rf"{last}await \1{read}", code.rstrip("\n")) if last else code
    (folder / "recipe.mjs").write_text(repeated(code, f"for (let turn = 0; turn < {TIMES}; turn++) {{ ", END))
    return [found, "--no-warnings", "recipe.mjs"]


def java(code: str, folder: Path) -> list[str]:
    found, jars = shutil.which("java"), ROOT / "docs" / "test" / "java" / "target" / "libs"
    if found is None:
        pytest.skip("java is not installed")
    if not jars.is_dir():
        pytest.skip("the jars are not here: make -C docs recipes-setup")
    loop = f"for (int turn = 0; turn < {TIMES}; turn++) "
    code, count = re.subn(r"^( +)(client\..*;)$", rf"\1{loop}\2\n\1System.exit(0);", code, flags=re.MULTILINE)
    assert count == 1, "the POST must be one statement on a line of its own that begins with `client.`"
    (folder / "Recipe.java").write_text(code)
    path = [f"{jars}/*"]
    for module in ("core", "netty", "okhttp") if "io.github.onewrite" in code else ():
        classes = ROOT / "java" / module / "target" / "classes"
        if not classes.is_dir():
            pytest.skip(f"the adapter's {module} is not built: make -C java setup")
        path.append(str(classes))
    return [found, "-cp", os.pathsep.join(path), "Recipe.java"]


RUNTIMES = {"python": python, "ruby": ruby, "node": node, "java": java}


def run(language: str, code: str, folder: Path) -> tuple[str, list[int]]:
    """What the block printed, and how many data segments each of its `TIMES` POSTs took to reach the server."""
    origin = Origin()
    try:
        command = RUNTIMES[language](code.replace(PLACE, f"http://127.0.0.1:{origin.port}"), folder)
        env = {key: value for key, value in os.environ.items()
               if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
        env["PYTHONPATH"] = str(ROOT / "python" / "src")
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    finally:
        origin.close()
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(origin.segments) == TIMES
    return done.stdout, origin.segments
