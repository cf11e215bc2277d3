"""Pages that repeat a source: supported versions stand in one table, what is touched in the lists of the contract."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import touches

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


#: The second column of the table, by the first.
SUPPORTED = {
    cells[0]: cells[1]
    for line in read("docs/versions.md").splitlines()
    if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 4
}
FLOORS = {
    "Python": re.findall(r'requires-python = ">=([^"]+)"', read("python/pyproject.toml")),
    "Ruby": ["2.1"],  # the gem installs on 1.9.3, too, for what has no hooks there
    "Node": [json.loads(read("node/package.json"))["engines"]["node"].removeprefix(">=")],
    "Java": re.findall(r"<maven.compiler.release>(\d+)<", read("java/pom.xml")),
}


@pytest.mark.parametrize("language", FLOORS)
def test_the_manifest_has_the_floor_of_the_table(language: str) -> None:
    assert SUPPORTED[language].endswith(f" {FLOORS[language][0]} and later")


@pytest.mark.parametrize("language", FLOORS)
def test_the_first_pages_repeat_the_table(language: str) -> None:
    for page in ("README.md", f"{language.lower()}/README.md"):
        assert SUPPORTED[language] in read(page), page


def test_the_page_of_what_is_touched_is_that_of_the_lists() -> None:
    page = touches.PAGE.read_text(encoding="utf-8")
    assert touches.filled(page) == page, "docs/tools/touches.py"


def test_a_list_becomes_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touches, "LISTS", tmp_path)
    (tmp_path / "ruby.yaml").write_text(
        "about: x\nmechanisms:\n  - {name: 'Net::HTTP#start', kind: replaced method, when: install, back: uninstall, why: to\n      time}\n"
    )
    page = "# x\n<!-- ruby:begin -->\nold\n<!-- ruby:end -->\nend\n<!-- node:begin -->\n<!-- node:end -->\n"
    assert touches.filled(page).splitlines()[2:5] == [
        "- **replaced method**, install to uninstall: `Net::HTTP#start`", "<!-- ruby:end -->", "end",
    ]
