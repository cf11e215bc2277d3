"""The options page names what the adapters really take: each option is given, with its default, in each language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OPTIONS: list[dict[str, Any]] = yaml.safe_load((ROOT / "spec" / "config.yaml").read_text())["options"]


def named(language: str) -> dict[str, Any]:
    """The options of a language by their name in code, with their defaults; `Onewrite.disable!` is a call, not a name."""
    return {one["code"][language]: one["default"] for one in OPTIONS if re.fullmatch(r"\w+", one["code"][language] or "")}


def test_the_page_names_every_option_and_its_default() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    for one in OPTIONS:
        assert f"| `{one['default']}` | `{one['env']}` |".lower() in page.lower(), one["name"]
        assert f'<a id="{one["name"]}"></a>`{one["name"]}`' in page


@pytest.mark.parametrize("language", ["python", "ruby", "node", "java"])
def test_a_readme_names_every_option_of_its_language(language: str) -> None:
    text = (ROOT / language / "README.md").read_text()
    assert [name for one in OPTIONS if (name := one["code"][language]) and name not in text] == []


def run(*command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT / "node")
    assert done.returncode == 0, done.stderr[-1000:]


def test_python_takes_every_option() -> None:
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'python' / 'src')!r})\n"
            f"import onewrite, onewrite.requests\noptions = {named('python')!r}\n"
            "onewrite.PoolManager(**options); onewrite.requests.Adapter(**options); onewrite.install(**options)\n")
    run(str(ROOT / "docs" / ".venv" / "bin" / "python"), "-c", code)


def test_ruby_takes_every_option() -> None:
    options = ", ".join(f"{name}: {json.dumps(value)}" for name, value in named("ruby").items())
    run("ruby", "-I", str(ROOT / "ruby" / "lib"), "-e", f"require 'onewrite'; Onewrite.configure({options})")


def test_node_takes_every_option() -> None:
    run("node", "--input-type=module", "-e",
        f"import {{ Agent, HttpAgent, HttpsAgent, install }} from 'onewrite'; const options = {json.dumps(named('node'))};"
        "new Agent(options); new HttpAgent(options); new HttpsAgent(options); install(options); process.exit(0)")


def test_java_takes_every_option(tmp_path: Path) -> None:
    built = ROOT / "java" / "core" / "target" / "classes"
    if not (built / "io" / "github" / "onewrite" / "OnewriteConfig.class").exists():
        pytest.skip("the adapter's core is not built: make -C java setup")
    changes = "".join(f".{name}({json.dumps(value)})" for name, value in named("java").items())
    (tmp_path / "Options.java").write_text(
        "import io.github.onewrite.OnewriteConfig;\nclass Options {\n  public static void main(String[] args) {\n"
        "    OnewriteConfig all = OnewriteConfig.read(name -> null, name -> null);\n"
        f"    if (!all{changes}.equals(all)) throw new AssertionError(all);\n  }}\n}}\n")
    run("java", "-XX:TieredStopAtLevel=1", "-cp", str(built), str(tmp_path / "Options.java"))
