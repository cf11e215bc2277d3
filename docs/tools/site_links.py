"""Checks the built documentation site: every relative link and picture of its pages leads to a file and an anchor of
the site, and no page loads anything from another host.

usage: site_links.py FOLDER      exit: 0 all lead somewhere, 1 some do not (each is printed)
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from links import told

#: Made by YARD and Javadoc, which check their own links; they are only targets here.
FOREIGN = ("api/ruby/", "api/java/")
#: Attributes that make a browser load something.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}
#: <link> elements that are read by crawlers only.
NAMED = {"canonical", "next", "prev", "alternate", "edit"}


class Page(HTMLParser):
    """The links, the loaded files and the anchors of one page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if given.get("data-md-component") == "source":  # the theme's script fetches the repository's figures there
            self.links.append((given.get("href", ""), True))
        for key in ("id", "name"):
            if key in given:
                self.anchors.add(given[key])
        for key in ("href", "src", "srcset"):
            if key in given and not (tag == "link" and given.get("rel") in NAMED):
                self.links.append((given[key], (tag, key) in LOADS))


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def complaint(site: Path, path: Path, target: str, loaded: bool) -> str | None:
    parts = urlsplit(target)
    if parts.scheme in ("data", "mailto"):
        return None
    if parts.scheme or parts.netloc:
        return f"{target}: loaded from another host" if loaded else None
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if file.is_dir():
        file /= "index.html"
    if not file.is_file() or not file.is_relative_to(site):
        return f"{target}: no such file in the site"
    foreign = str(file.relative_to(site)).startswith(FOREIGN)
    if parts.fragment and file.suffix == ".html" and not foreign and unquote(parts.fragment) not in read(file).anchors:
        return f"{target}: no such anchor"
    return None


def main(site: Path) -> int:
    pages = [page for page in sorted(site.rglob("*.html")) if not str(page.relative_to(site)).startswith(FOREIGN)]
    wrong = []
    for path in pages:
        if path.name == "404.html":  # its links are absolute, for it is shown at any address
            continue
        for target, loaded in read(path).links:
            reason = complaint(site, path, re.sub(r"^\s+|\s+$", "", target), loaded)
            if reason:
                wrong.append(f"{path.relative_to(site)}: {reason}")
    return told(sorted(set(wrong)), f"site: {len(pages)} pages")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
