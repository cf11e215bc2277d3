#!/usr/bin/env python3
"""Checks the repository's Markdown pages: links lead somewhere, names exist, figures have a source.

usage: pages.py [FILE…]       exit: 0 nothing found, 1 something (each fault is printed), 2 no such file

Without files: every page. A link to `file.md#heading` must name a heading of that file, slugged as GitHub does it. In code,
a target of `make`, a file of this repository and an environment variable `ONEWRITE_…` must exist. A section that has a time,
a share or a factor must name what measured or defines it.
It needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
HTML = re.compile(r"<(?:img|a|source)\b[^>]*\b(?:src|href|srcset)=\"([^\"]+)\"")
FENCE = re.compile(r"^([ \t]*)(```+|~~~+).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
#: The READMEs that a package registry shows have whole addresses.
OURS = re.compile(r"^https://github\.com/onewrite/onewrite/(?:blob|tree)/main/")
EXTERNAL = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
#: A block that a command writes.
GENERATED = re.compile(r"<!-- (?:measured:)?([\w:-]+?)(?::begin)? -->\n(.*?)<!-- (?:/measured:)?\1(?::end)? -->", re.DOTALL)

#: Figures that pages define and do not measure: the stall, the waits that get a cause, the buckets around a stall.
DEFINED = "(?:1|20|30|35|40|44|48|50|200) ms"
FIGURE = re.compile(rf"(?<![\w.])(?!{DEFINED})\d[\d.,]* ?(?:ms|µs|%|×)(?!\w)")
#: A command, a page or file with results, a standard, an issue, the date of a measurement, a setting.
SOURCE = re.compile(
    r"`make |bench/|RESULTS\.md|measured|rules|RFC \d|#\d{3}|\d{4}-\d\d-\d\d|"
    r"`onewrite \w|[Dd]efault|limit|option|within|void if"
)
#: Results, and requirements, which set their figures.
WITHOUT_SOURCE = re.compile(r"(^|/)(COMPLIANCE|RESULTS)\.md$|^spec/")

MAKE = re.compile(r"(?:^|[\s;&])make(?: -C (\S+))?((?: [a-z][\w-]*(?![\w=/.-]))+)")
FILE = re.compile(r"(?:\.ci|\.github|bench|cli|docs|java|node|python|ruby|spec)/[\w./-]*\w")
VARIABLE = re.compile(r"\bONEWRITE_[A-Z_]+\b")


def listed(*patterns: str) -> list[str]:
    """The repository's files that match the patterns, but what tools have fetched into hidden folders."""
    command = ["git", "ls-files", "-z", "-co", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    hidden = re.compile(r"(^|/)\.(?!github/|ci/)[^/]*/")
    return [name for name in names if name and not hidden.search(name) and (ROOT / name).is_file()]


def markdown_files() -> list[Path]:
    return [ROOT / name for name in listed("*.md")]


def blank(found: re.Match[str]) -> str:
    """White space of the same length: positions after it still give the line."""
    return re.sub(r"[^\n]", " ", found[0])


# -- links ------------------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor GitHub gives a heading: lower case, punctuation dropped, spaces to hyphens."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[`*]", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    found = set(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*\s*$", text, re.MULTILINE):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return frozenset(found)


def numbered_targets(text: str) -> list[tuple[int, str]]:
    """(line, target) of each link in a page's prose."""
    prose = CODE.sub(blank, FENCE.sub(blank, text))
    found = (match for pattern in (LINK, REFERENCE, HTML) for match in pattern.finditer(prose))
    return [(prose.count("\n", 0, match.start()) + 1, match[1]) for match in found]


def broken(path: Path, target: str) -> str | None:
    """Why a link leads nowhere."""
    inside = OURS.sub("", target)
    if EXTERNAL.match(inside):
        return None
    name, _, anchor = unquote(inside).partition("#")
    if name.startswith("/"):
        return f"{target}: write it relative to the file"
    file = ((path.parent if inside == target else ROOT) / name).resolve() if name else path
    if not file.exists():
        return f"{target}: no such file"
    if not file.is_relative_to(ROOT):
        return f"{target}: leads out of the repository"
    if anchor and file.suffix == ".md" and anchor.lower() not in anchors(file):
        return f"{target}: no such heading in {file.relative_to(ROOT)}"
    return None


# -- names ------------------------------------------------------------------------------------------------------


@cache
def targets(folder: Path) -> frozenset[str]:
    """The targets of a Makefile, and `help`, which each part has."""
    lines = re.findall(r"^([^\s#:=][^:=]*):(?!=)", (folder / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset({"help", *(name for line in lines for name in line.split())})


@cache
def variables() -> frozenset[str]:
    """The environment variables that code and contract of this repository name."""
    command = ["git", "grep", "-ohE", r"\bONEWRITE_[A-Z_]+", "--", ":!*.md", ":!docs/test"]
    return frozenset(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split())


def code(text: str) -> Iterator[tuple[int, str, bool]]:
    """Line, code, and whether it is a span in prose, of each line of code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        if mark := re.match(r"\s*(```+|~~~+)", line):
            fence = "" if fence else mark[1]
        elif fence:
            yield number, line.partition("# ")[0], False
        else:
            yield from ((number, found, True) for found in CODE.findall(line))


def commands(line: str) -> list[tuple[str, str]]:
    """Folder and target of each `make` in a line of code; the folder is empty where none is named, LANGUAGE stands for any."""
    return [(folder, target) for folder, rest in MAKE.findall(line) if not folder.isupper() for target in rest.split()]


def unknown(path: Path, line: str, *, span: bool) -> Iterator[str]:
    """The names in a line of code that do not exist."""
    for folder, target in commands(line):
        # `make x` in a part's own page is that part's, or the root's.
        folders = [ROOT / folder, path.parent / folder] if folder else [ROOT, path.parent, *path.parent.parents]
        if not any(target in targets(one) for one in folders if (one / "Makefile").is_file()):
            yield f"make {'-C ' + folder + ' ' if folder else ''}{target}: no such target"
    if span and FILE.fullmatch(line) and "/build/" not in line and not (ROOT / line).exists():
        yield f"{line}: no such file"
    for name in VARIABLE.findall(line):
        if name not in variables():
            yield f"{name}: nothing reads it"


# -- figures ----------------------------------------------------------------------------------------------------


def without_source(text: str) -> Iterator[tuple[int, str]]:
    """(line, figures) of each section whose figures have no source."""
    for pattern in (GENERATED, FENCE):
        text = pattern.sub(blank, text)
    line = 1
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        if (found := FIGURE.findall(part)) and not SOURCE.search(part):
            yield line, ", ".join(found)
        line += part.count("\n")


def complaints(path: Path) -> list[str]:
    """The faults of one page, each as `file:line: reason`."""
    text = path.read_text(encoding="utf-8")
    where = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    wrong = [(number, "white space at the end") for number, line in enumerate(text.split("\n"), 1) if line != line.rstrip()]
    if not text.endswith("\n") or text.endswith("\n\n"):
        wrong.append((text.count("\n"), "one line break at the end of a page"))
    wrong += [(line, reason) for line, target in numbered_targets(text) if (reason := broken(path, target))]
    wrong += [(line, reason) for line, one, span in code(text) for reason in unknown(path, one, span=span)]
    wrong += [(0, f"the generated block {name} is empty") for name, block in GENERATED.findall(text) if not block.strip()]
    if not WITHOUT_SOURCE.search(where):
        wrong += [(line, f"what measured or defines {found}?") for line, found in without_source(text)]
    return [f"{where}:{line}: {reason}" for line, reason in wrong]


def menu_faults() -> list[str]:
    """Pages of the site's menu and modules of its Python reference that do not exist; `make docs-site` writes other pages in api/."""
    menu = ROOT / "docs" / "site" / "mkdocs.yml"
    named = re.findall(r"^ +- (?:.*: )?([\w./-]+\.md)$", menu.read_text(encoding="utf-8"), re.MULTILINE)
    modules = re.findall(r"^::: onewrite\.(\w+)$", (ROOT / "docs/site/api/python.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = [page for page in named if not page.startswith("api/")] + [f"python/src/onewrite/{module}.py" for module in modules]
    return [f"docs/site: {name}: no such file" for name in named if not (ROOT / name).is_file()]


def main(names: list[str]) -> int:
    if missing := [name for name in names if not Path(name).is_file()]:
        print(f"no such file: {', '.join(missing)}\n{__doc__}", file=sys.stderr)
        return 2
    files = [Path(name).resolve() for name in names] or markdown_files()
    wrong = [one for path in files for one in complaints(path)] + ([] if names else menu_faults())
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    print(f"docs: {len(files)} pages, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
