"""Brings the repository's Markdown files into the site, each under its own path.

A link to a file that is no page of the site, such as a source file, leads to the repository's web page.
The API references of Ruby and Java are HTML made by YARD and Javadoc. Their folders are copied beside the pages. A
generated page lists their classes, so that the site's search finds them.
"""

from __future__ import annotations

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(__file__).resolve().parent
MADE = ROOT / "build" / "site-parts"  # where the Makefile puts what YARD, Javadoc and TypeDoc make
REPOSITORY = "https://github.com/onewrite/onewrite/blob/main/"
#: The READMEs that a package registry shows have whole addresses.
OURS = re.compile(r"^https://github\.com/onewrite/onewrite/(?:blob|tree)/main/")
#: ](target) or ](target#anchor), not of an image on another host.
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
#: An image in HTML, as READMEs use it.
SOURCE = re.compile(r'((?:src|srcset|href)=")([^"#:]+)(")')
CODE = re.compile(r"^(```.*?^```|~~~.*?^~~~)", re.M | re.S)


def pages_of(nav: Any) -> list[str]:
    """The source paths that a nav names, in its order."""
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        return [page for value in nav.values() for page in pages_of(value)]
    return [page for item in nav or [] for page in pages_of(item)]


def classes_of_yard(folder: Path) -> list[tuple[str, str]]:
    """(path of the page, name) of each class and module in YARD's list."""
    found = re.findall(r'href="([^"#]+\.html)" title="(Onewrite[\w:]*)', (folder / "class_list.html").read_text())
    return sorted({(path, name.split(" ")[0]) for path, name in found}, key=lambda one: one[1])


def types_of_javadoc(folder: Path) -> list[tuple[str, str]]:
    """(path of the page, name) of each type in Javadoc's list of all types."""
    found = re.findall(
        r'<a href="([^"]+\.html)" title="(?:class|interface|enum|record|annotation)[^"]* in ([\w.]+)"[^>]*>([^<]+)<',
        (folder / "allclasses-index.html").read_text(),
    )
    return [(path, f"{package}.{unescape(name)}") for path, package, name in found]


def reference_page(title: str, folder: str, entries: list[tuple[str, str]]) -> str:
    """A page that shows a generated reference in a frame, and links each of its classes."""
    lines = [f"# {title}", "", f"[Open the reference alone]({folder}/index.html)", ""]
    lines += [f'<iframe class="reference" src="{folder}/index.html" title="{title}"></iframe>', ""]
    lines += [f"- [`{name}`]({folder}/{path})" for path, name in entries]
    return "\n".join(lines)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages of the nav, the pictures beside them, and the generated references."""
    for path in pages_of(config.nav):
        if path.startswith("api/"):
            continue
        here = ROOT / path
        made = MADE / path  # such as the bench's results over time
        files.append(File.generated(config, path, abs_src_path=str(here if here.is_file() else made)))
    for picture in [*sorted((ROOT / "docs").glob("*.svg")), *sorted((ROOT / "bench").glob("*.svg"))]:
        files.append(File.generated(config, str(picture.relative_to(ROOT)), abs_src_path=str(picture)))

    files.append(File.generated(config, "api/python.md", abs_src_path=str(SITE / "api" / "python.md")))
    for path in sorted((MADE / "node").rglob("*.md")):
        files.append(File.generated(config, f"api/{path.relative_to(MADE)}", abs_src_path=str(path)))
    for language, title, entries in (
        ("ruby", "Ruby reference", classes_of_yard(MADE / "ruby")),
        ("java", "Java reference", types_of_javadoc(MADE / "java")),
    ):
        files.append(File.generated(config, f"api/{language}.md", content=reference_page(title, language, entries)))
        for path in sorted((MADE / language).rglob("*")):
            if path.is_file():
                files.append(File.generated(config, f"api/{path.relative_to(MADE)}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Lead links that leave the site's pages to the repository; code blocks stay as they are."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    if page.file.src_uri == "README.md":
        page.meta["hide"] = ["navigation"]  # the only page of its tab: its columns go to the samples
    folder = posixpath.dirname(page.file.src_uri)

    def adjusted(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        inside = OURS.sub("", target)
        if re.match(r"[a-z]+:|#|/", inside):
            return found.group(0)
        path, _, anchor = inside.partition("#")
        whole = path if inside != target else posixpath.normpath(posixpath.join(folder, path))
        if files.get_file_from_path(whole):
            return f"{before}{posixpath.relpath(whole, folder or '.')}{'#' + anchor if anchor else ''}{after}"
        index = posixpath.join(whole, "README.md")
        if files.get_file_from_path(index):
            return f"{before}{posixpath.relpath(index, folder or '.')}{'#' + anchor if anchor else ''}{after}"
        if not (ROOT / whole).exists():
            return found.group(0)  # a broken link stays one, and mkdocs says so
        return f"{before}{REPOSITORY}{whole}{'#' + anchor if anchor else ''}{after}"

    parts = CODE.split(markdown)
    return "".join(part if CODE.fullmatch(part) else SOURCE.sub(adjusted, LINK.sub(adjusted, part)) for part in parts)
