"""The pages hold together, and the checker sees what does not."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import pages
from pages import ROOT


def test_links_names_and_figures_of_every_page() -> None:
    assert [fault for path in pages.markdown_files() for fault in pages.complaints(path)] + pages.menu_faults() == []


SEEN = {
    "[a](gone.md)": "gone.md: no such file",
    "[a](there.md#nowhere)": "there.md#nowhere: no such heading in there.md",
    "[a](/there.md)": "/there.md: write it relative to the file",
    "[a](../../x)": "../../x: no such file",
    '<img src="gone.svg">': "gone.svg: no such file",
    "white \nspace": "white space at the end",
    "`make nothing`": "make nothing: no such target",
    "`make -C docs nosuch`": "make -C docs nosuch: no such target",
    "```sh\nmake demo nothing  # make a word\n```": "make nothing: no such target",
    "`docs/gone.py`": "docs/gone.py: no such file",
    "`ONEWRITE_GONE=1`": "ONEWRITE_GONE: nothing reads it",
    "It takes 12.5 ms.": "what measured or defines 12.5 ms?",
    "<!-- measured:x -->\n<!-- /measured:x -->": "the generated block x is empty",
}
PASSES = [
    "[a](there.md#a-heading-with-code) [b](https://example.org/) `[code](x.md)`\n```\n[a](b.md)\n```",
    "`make demo`, `make -C LANGUAGE x`, make it so, `make SEED=1 demo`",
    "`docs/there.py`, `docs/build/x`, `ONEWRITE_DISABLED`",
    "It waits 40 ms. `make demo` shows it.\n# Next\nIn RESULTS.md it takes 12.5 ms.",
    "<!-- measured:x -->\nIt takes 12.5 ms.\n<!-- /measured:x -->\n<!-- a:begin -->\n5 %\n<!-- a:end -->",
]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty page in a small repository."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "there.py").touch()
    for folder in (".", "docs"):
        (tmp_path / folder / "Makefile").write_text("demo: x\n\techo\n")
    (tmp_path / "there.md").write_text("# A heading, with `code`\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "variables", lambda: {"ONEWRITE_DISABLED"})
    return tmp_path / "page.md"


@pytest.mark.parametrize("text", SEEN)
def test_a_fault_is_seen(text: str, page: Path) -> None:
    page.write_text(f"# Page\n{text}\n")
    assert [fault.split(": ", 1)[1] for fault in pages.complaints(page)] == [SEEN[text]]


@pytest.mark.parametrize("text", PASSES)
def test_what_is_right_passes(text: str, page: Path) -> None:
    page.write_text(f"# Page\n{text}\n")
    assert pages.complaints(page) == []


def test_a_fault_has_its_line(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page.write_text("# Page\n\n```\ncode\n```\n\n[a](gone.md)\n")
    assert pages.main([str(page)]) == 1
    assert "page.md:7: gone.md: no such file" in capsys.readouterr().err
    assert pages.main([str(page.parent / "gone.md")]) == 2


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


FLOORS = {
    "Python": re.findall(r'requires-python = ">=([^"]+)"', read("python/pyproject.toml"))[0],
    "Node": json.loads(read("node/package.json"))["engines"]["node"].removeprefix(">="),
    "Java": re.findall(r"<maven.compiler.release>(\d+)<", read("java/pom.xml"))[0],
}


@pytest.mark.parametrize("language", FLOORS)
def test_the_first_pages_name_the_oldest_version_of_the_manifest(language: str) -> None:
    for page in ("README.md", f"{language.lower()}/README.md"):
        assert f"{language} {FLOORS[language]}" in read(page), page

