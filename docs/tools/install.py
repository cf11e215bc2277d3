"""Writes the install lines of docs/install.yaml into the pages: those of a clone before the first release, then the registries'.

usage: install.py [--check | --released]      exit: 0 written or current, 1 stale (with --check)
`--released` is the one step of a release: from then on the pages hold the registries' lines.
A page holds a block between `<!-- install:NAME:begin -->` and `<!-- install:NAME:end -->`; NAME is a package, or `all`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import links
import yaml

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "install.yaml"
BLOCK = re.compile(r"(<!-- install:(\w+):begin -->\n).*?(<!-- install:\2:end -->)", re.DOTALL)
TITLES = {"python": "Python", "ruby": "Ruby", "node": "Node", "java": "Java", "cli": "the command onewrite"}


def lines_of(package: str, data: dict[str, Any]) -> list[str]:
    where = data["packages"][package]["registry" if data["released"] else "clone"]
    return [str(line) for line in where]


def block(name: str, data: dict[str, Any]) -> str:
    """The code of one package, or of all with a comment before each."""
    if name != "all":
        return "```sh\n" + "\n".join(lines_of(name, data)) + "\n```\n"
    parts = [f"# {TITLES[package]}\n" + "\n".join(lines_of(package, data)) for package in data["packages"]]
    return "```sh\n" + "\n".join(parts) + "\n```\n"


def rendered(text: str, data: dict[str, Any]) -> str:
    return BLOCK.sub(lambda found: found[1] + block(found[2], data) + found[3], text)


def main(arguments: list[str]) -> int:
    if "--released" in arguments:
        SOURCE.write_text(SOURCE.read_text(encoding="utf-8").replace("\nreleased: false\n", "\nreleased: true\n"), encoding="utf-8")
    data = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    stale = []
    for path in links.markdown_files():
        text = path.read_text(encoding="utf-8")
        wanted = rendered(text, data)
        if wanted != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in arguments:
                path.write_text(wanted, encoding="utf-8")
    if "--check" in arguments and stale:
        print(f"stale install lines in {', '.join(stale)}: make -C docs generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
