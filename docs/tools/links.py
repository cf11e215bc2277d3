"""Checks that every link to this repository in the repository's Markdown files leads somewhere, and that no line ends in junk.

usage: links.py            exit: 0 all resolve, 1 some do not (each is printed)
A link to `file.md#heading` must name a heading of that file, slugged as GitHub does it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
HTML = re.compile(r"<(?:img|a|source)\b[^>]*\b(?:src|href|srcset)=\"([^\"]+)\"")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
#: The READMEs that a package registry shows have whole addresses.
OURS = re.compile(r"^https://github\.com/onewrite/onewrite/(?:blob|tree)/main/")
EXTERNAL = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def markdown_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", "--", "*.md"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()
    return [path for name in listing.split("\0") if name and ours(name) and (path := ROOT / name).is_file()]


def ours(name: str) -> bool:
    """Hidden folders hold what tools have fetched, but for .github."""
    return not any(part.startswith(".") and part != ".github" for part in Path(name).parts)


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
    # Code is blanked, not cut, so that positions still tell the line.
    prose = CODE.sub(lambda m: " " * len(m[0]), FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text))
    found = (match for pattern in (LINK, REFERENCE, HTML) for match in pattern.finditer(prose))
    return [(prose.count("\n", 0, match.start()) + 1, match.group(1)) for match in found]


def complaints(path: Path) -> list[str]:
    """The faults of one file, each as `file:line: reason`."""
    text = path.read_text(encoding="utf-8")
    where = path.relative_to(ROOT)
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            wrong.append(f"{where}:{number}: trailing white space")
    if text and not text.endswith("\n"):
        wrong.append(f"{where}: no newline at the end")
    if text.endswith("\n\n"):
        wrong.append(f"{where}: blank lines at the end")
    for line, target in numbered_targets(text):
        reason = broken(path, target)
        if reason:
            wrong.append(f"{where}:{line}: {reason}")
    return wrong


def broken(path: Path, target: str) -> str | None:
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


def report(wrong: list[str], what: str) -> int:
    """Print the complaints and a summary; returns the exit status."""
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    print(f"{what}, {len(wrong)} complaints")
    return 1 if wrong else 0


def main() -> int:
    files = markdown_files()
    wrong = [complaint for path in files for complaint in complaints(path)]
    return report(wrong, f"docs: {len(files)} Markdown files")


if __name__ == "__main__":
    sys.exit(main())
