"""The pages hold together: links resolve, generated text is what its source says."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import links
import site_sources

GENERATED = {
    "README.md": ["sample:check", "cost"],
    "docs/proxies.md": ["proxies", "relays"],
    "docs/do-i-have-it.md": ["stock-libraries", "servers"],
    "docs/what-it-cannot-fix.md": ["other-waits"],
    "docs/finding-a-stall.md": ["symptom", "ss", "tshark", "strace", "hooks"],
}


@pytest.mark.parametrize("path", links.markdown_files(), ids=lambda path: str(path.relative_to(links.ROOT)))
def test_links_resolve(path: Path) -> None:
    assert links.complaints(path) == []


def test_the_link_checker_sees_what_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# A heading, with `code`\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[ok](there.md#a-heading-with-code) [no](gone.md) [no](there.md#nowhere) `[code](x.md)` \n```\n[a](b.md)\n```\n"
    )
    reasons = "\n".join(links.complaints(page))
    assert reasons.count("page.md:1") == 3
    assert "gone.md: no such file" in reasons
    assert "nowhere: no such heading" in reasons
    assert "trailing white space" in reasons


def test_what_the_site_is_built_from_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site_sources.main() == 0
    for folder in ("docs/site/api", "docs/site/node", "python/src/onewrite", "node"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(links, "ROOT", tmp_path)
    monkeypatch.setattr(site_sources, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("# A - B\n[works on GitHub alone](#a---b) [works nowhere](#c)\n")
    (tmp_path / "docs/site/mkdocs.yml").write_text("nav: [Start: page.md, More: [gone.md, api/made.md]]")
    (tmp_path / "docs/site/api/python.md").write_text("::: onewrite\n::: onewrite.gone\n")
    (tmp_path / "python/src/onewrite/httpx.py").touch()
    (tmp_path / "docs/site/node/typedoc.json").write_text('{"entryPoints": []}')
    (tmp_path / "node/package.json").write_text('{"exports": {".": {"types": "index.d.ts"}}}')
    assert site_sources.main() == 1
    menu = ["page.md", "gone.md", "api/made.md"]
    assert site_sources.menu_faults(menu) == ["docs/site/mkdocs.yml: gone.md: no such file"]
    assert ["#a---b" in fault for fault in site_sources.anchor_faults(menu)] == [True, False]
    assert [fault.split(": ")[1] for fault in site_sources.python_faults()] == ["onewrite.gone is not public", "onewrite.httpx is missing"]
    assert [fault.rpartition(" ")[2] for fault in site_sources.node_faults()] == ["missing"]


@pytest.mark.parametrize("name", GENERATED)
def test_measured_blocks_are_filled(name: str) -> None:
    text = (links.ROOT / name).read_text(encoding="utf-8")
    for block in GENERATED[name]:
        found = re.findall(rf"<!-- (?:measured:)?{block}(?::begin)? -->(.*?)<!-- (?:/measured:)?{block}(?::end)? -->", text, re.DOTALL)
        assert len(found) == 1 and found[0].strip(), f"{name} must hold {block} once, measured"


@cache
def targets(folder: Path) -> frozenset[str]:
    """The targets of a Makefile, and `help`, which each part has."""
    lines = re.findall(r"^([^\s#:=][^:=]*):(?!=)", (folder / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset({"help", *(name for line in lines for name in line.split())})


def commands(text: str) -> list[tuple[str, str]]:
    """Folder and target of each `make` in the code of a page; the folder is empty where none is named."""
    code: list[str] = []
    fenced = False
    for line in text.splitlines():
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        else:
            code += [line] if fenced else re.findall(r"`([^`]+)`", line)
    found = []
    for line in code:
        for folder, rest in re.findall(r"(?:^|[\s;&])make(?: -C (\S+))?((?: [a-z][\w-]*(?![\w=/.-]))+)", line.partition("#")[0]):
            if not folder.isupper():  # LANGUAGE stands for any
                found += [(folder, target) for target in rest.split()]
    return found


@pytest.mark.parametrize("path", links.markdown_files(), ids=lambda path: str(path.relative_to(links.ROOT)))
def test_every_make_target_a_page_names_exists(path: Path) -> None:
    for folder, target in commands(path.read_text(encoding="utf-8")):
        # `make x` in a part's own page is that part's, or the root's.
        places = [links.ROOT / folder, path.parent / folder] if folder else [links.ROOT, path.parent, *path.parent.parents]
        makefiles = [place for place in places if (place / "Makefile").is_file()]
        assert any(target in targets(place) for place in makefiles), f"make {'-C ' + folder if folder else ''} {target}: no such target"


def test_the_target_check_sees_what_is_not_there() -> None:
    text = "`make -C bench nosuch` and\n```\nmake demo nothing   # a word\n```\nmake it so, `make -C LANGUAGE x`\n"
    assert commands(text) == [("bench", "nosuch"), ("", "demo"), ("", "nothing")]
    assert "demo" in targets(links.ROOT) and "nothing" not in targets(links.ROOT)


#: Words that readers search for, and a page of the site that has each in its text.
SEARCHED = {
    "rollback": "rollout.md", "envoy": "proxies.md", "traefik": "proxies.md", "webmock": "tracers.md", "kubernetes": "recipes-python.md",
    "canary": "rollout.md", "kill switch": "rollout.md", "glossary": "finding-a-stall.md", "http/2": "what-it-cannot-fix.md",
}


@pytest.mark.parametrize("word", SEARCHED)
def test_the_search_finds(word: str) -> None:
    page = SEARCHED[word]
    assert f"docs/{page}" in (links.ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    assert word in (links.ROOT / "docs" / page).read_text(encoding="utf-8").lower()
