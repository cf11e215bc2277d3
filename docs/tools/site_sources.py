"""Checks what the documentation site is built from, without building it.

usage: site_sources.py        exit: 0 all is there, 1 something is not (each is printed)

Every page of the site's menu exists. Every link to a heading finds it under the site's anchor, which is not always
GitHub's. The references of Python and Node have every public module. `make docs-site` checks the built site.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import links
import yaml
from links import ROOT

#: Pages that `make docs-site` writes.
MADE = ("api/",)
#: Exports of the Node package that hold no function or type.
WITHOUT_TYPES = ("./register", "./package.json")


def pages(nav: Any) -> list[str]:
    """The source paths that a menu names."""
    if isinstance(nav, str):
        return [nav]
    return [page for item in (nav.values() if isinstance(nav, dict) else nav) for page in pages(item)]


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page on the site: runs of spaces and hyphens are one hyphen, letters outside ASCII are dropped."""
    return frozenset(re.sub(r"[-\s]+", "-", name.encode("ascii", "ignore").decode()) for name in links.anchors(path))


def menu_faults(menu: list[str]) -> list[str]:
    return [f"docs/site/mkdocs.yml: {page}: no such file" for page in menu if not page.startswith(MADE) and not (ROOT / page).is_file()]


def anchor_faults(menu: list[str]) -> list[str]:
    """Links between the site's pages that work on GitHub alone."""
    site = {ROOT / page for page in menu}
    found = []
    for page in sorted(site):
        for _, target in links.numbered_targets(page.read_text(encoding="utf-8")) if page.is_file() else []:
            name, _, anchor = unquote(target).partition("#")
            file = (page.parent / name).resolve() if name else page
            if anchor and file in site and anchor not in anchors(file):
                found.append(f"{page.relative_to(ROOT)}: {target}: on the site that heading has another anchor")
    return found


def python_faults() -> list[str]:
    source = ROOT / "python" / "src" / "onewrite"
    modules = {f"onewrite.{file.stem}" for file in source.glob("[!_]*.py")} | {"onewrite"}
    reference = set(re.findall(r"^::: (\S+)", (ROOT / "docs/site/api/python.md").read_text(encoding="utf-8"), re.MULTILINE))
    return _differences("docs/site/api/python.md", reference, modules)


def node_faults() -> list[str]:
    exports = json.loads((ROOT / "node/package.json").read_text(encoding="utf-8"))["exports"]
    types = {str((ROOT / "node" / entry["types"]).resolve()) for name, entry in exports.items() if name not in WITHOUT_TYPES}
    folder = ROOT / "docs/site/node"
    config = json.loads((folder / "typedoc.json").read_text(encoding="utf-8"))
    return _differences("docs/site/node/typedoc.json", {str((folder / entry).resolve()) for entry in config["entryPoints"]}, types)


def _differences(where: str, named: set[str], public: set[str]) -> list[str]:
    return [f"{where}: {name} is not public" for name in sorted(named - public)] + [
        f"{where}: {name} is missing" for name in sorted(public - named)
    ]


def main() -> int:
    menu = pages(yaml.safe_load((ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    wrong = menu_faults(menu) + anchor_faults(menu) + python_faults() + node_faults()
    return links.report(wrong, f"docs: {len(menu)} pages of the site")


if __name__ == "__main__":
    sys.exit(main())
