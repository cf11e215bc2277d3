#!/usr/bin/env python3
"""Checks that pages are plain English: short sentences, the subject first, no riddles.

usage: prose.py [--stats] [FILE…]       exit: 0 plain, 1 not (each fault is printed), 2 bad arguments

Without files: every page of the repository, and the comments and docstrings of its code. A sentence fails that has more
than 30 words or more than 5 clauses, that begins as a riddle does ("Who…", "One that…"), or that has a word of BANNED. A
page fails that has more words than PAGE. Of comments only length and words are read, of tables only beginnings and words.
Code and generated blocks are not read.
`--stats` prints a line per file and their sum, and fails nothing. It needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: The limits of one sentence, and the length to write for.
WORDS, CLAUSES, GOOD = 30, 5, 25
#: The words of a page; of the READMEs of the languages; of all pages together.
PAGE, README, ALL = 1800, 1500, 28_000
LANGUAGES = ("python", "ruby", "node", "java")
#: Written by the judge and the benches, a row per requirement and scenario: their words alone are counted.
GENERATED_PAGE = re.compile(r"(^|/)(COMPLIANCE|RESULTS)\.md$")
GENERATED_WORDS = {"COMPLIANCE": 1500, "RESULTS": 3000}
#: A requirement of the contract is one sentence with one keyword in bold, so it may be longer.
REQUIREMENT, REQUIREMENT_WORDS = re.compile(r"\*\*(?:MUST|SHOULD|MAY)(?: NOT)?\*\*"), 50

#: Beginnings that make a reader wait for the subject. A question may begin so.
BEGINNINGS = re.compile(r"^(Who|Whoever|Whose|What|Whatever|One that|One who|Those that|Those who|He who)\b", re.IGNORECASE)

#: Words for which a plain one serves.
BANNED = {
    r"told": "name the act: reported, logged, passed",
    r"tells? (?:of|whether|apart)": "shows, reports",
    r"looks?(?! up)(?:ed|ing)? (?:at|like|for|alone|odd|wrong|slow|fast)": "see, read, seems, searches",
    r"looks": "seems, reads",
    r"asks": "needs, requests, calls for",
    r"knows": "has, stores, supports",
    r"of (?:its|their|his|your) own(?! (?:code|process|class|test|header))": "its own X, or drop it",
    r"by (?:itself|themselves)": "alone, automatically, or drop it",
    r"there and back": "a round trip",
    r"unseen": "say who did not see it",
    r"heard of": "say what happens",
}

#: Words that begin a further clause.
CLAUSE = re.compile(
    r"\b(which|that|who|whom|whose|because|while|whereas|although|though|unless|until|where|wherever|when|whenever|if|whether|but)\b|;",
    re.IGNORECASE,
)

FENCE = re.compile(r"^([ \t]*)(```+|~~~+).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
GENERATED = re.compile(r"<!-- (measured:[\w-]+|[\w-]+:begin) -->.*?<!-- (/measured:[\w-]+|[\w-]+:end) -->", re.DOTALL)
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
#: A full stop, or a separator of a row of links, before a new beginning.
LOWER = "onewrite|urllib3|httpx|httpcore|http\\.client|undici|requests|curl|nginx|npm|botocore|pip|axios|fetch"
END = re.compile(rf"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*(?:[A-Z0-9]|(?:{LOWER})\b))|\s+·\s+")
#: The title of another page.
LINK_ALONE = re.compile(r"^\s*\[[^\]]*\]\([^)]*\)\s*$")
SHORTENED = re.compile(r"\b(e\.g|i\.e|vs|etc|cf|approx)\.")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a page, its line, and whether it stands in a table."""

    text: str
    line: int
    table: bool = False

    @property
    def words(self) -> int:
        return len([word for word in self.text.split() if re.search(r"\w", word)])

    @property
    def clauses(self) -> int:
        return 1 + len(CLAUSE.findall(self.text))

    def faults(self) -> list[str]:
        found = []
        if not self.table:
            if self.words > (REQUIREMENT_WORDS if REQUIREMENT.search(self.text) else WORDS):
                found.append(f"{self.words} words")
            if self.clauses > CLAUSES:
                found.append(f"{self.clauses} clauses")
        beginning = BEGINNINGS.match(self.text.lstrip("*_\"'("))
        if beginning and not self.text.rstrip("*_)\"'").endswith("?"):
            found.append(f'begins with "{beginning[1]}"')
        return found + banned(self.text)


def banned(text: str, but: str = "-") -> list[str]:
    """The words of BANNED in a sentence, each with a better one, but those whose pattern begins so."""
    named = {word: better for word, better in BANNED.items() if not word.startswith(but)}
    return [f'"{match[0]}": {better}' for word, better in named.items() if (match := re.search(rf"\b{word}\b", text, re.IGNORECASE))]


@dataclass
class _Block:
    """Lines that belong together: a paragraph, a list item, a cell."""

    line: int
    parts: list[str] = field(default_factory=list)

    def sentences(self, *, table: bool = False) -> list[Sentence]:
        text = SHORTENED.sub(r"\1", " ".join(self.parts))
        return [Sentence(one.strip(), self.line, table) for one in END.split(text) if one and one.strip()]


def plain(line: str) -> str:
    """A line as it is read: code is one word, a link is its text."""
    line = re.sub(r"`[^`]*`", "CODE", line)
    line = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", line)
    line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return re.sub(r"<[^>]+>", "", line)


def blank(found: re.Match[str]) -> str:
    """Line breaks alone, so that later positions still give the line."""
    return re.sub(r"[^\n]", "", found[0])


def sentences(text: str) -> list[Sentence]:
    """The sentences of a Markdown page."""
    for pattern in (GENERATED, FENCE, COMMENT):
        text = pattern.sub(blank, text)
    # Code over a line break would leave a lone mark on both lines.
    text = re.sub(r"`[^`\n]*(?:\n[^`\n]+)?`", lambda found: "`code`" + "\n" * found[0].count("\n"), text)
    found: list[Sentence] = []
    block = _Block(1)
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("|"):
            found += block.sentences()
            block = _Block(number)
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                if not LINK_ALONE.match(cell):
                    found += _Block(number, [plain(cell).strip()]).sentences(table=True)
            continue
        stripped = re.sub(r"^[\s>]+", "", line)
        if not stripped or stripped.startswith("#") or ITEM.match(line) or re.match(r"^\[[^\]]+\]:", stripped):
            found += block.sentences()
            block = _Block(number)
            if not stripped or stripped.startswith("#") or not ITEM.match(line):
                continue
        if not block.parts:
            block.line = number
        block.parts.append(plain(ITEM.sub("", line)).strip(" >"))
    return found + block.sentences()


#: Code whose comments begin with # or with //, by the suffix of its files; Makefiles have none.
HASH, SLASH = {".py", ".rb", ".sh", ".mk", ".yml", ".yaml", "Makefile"}, {".js", ".mjs", ".cjs", ".ts", ".java"}
#: Comments for a tool.
DIRECTIVE = re.compile(r"(shellcheck|rubocop|frozen_string|zizmor|noqa|type:|fmt:|eslint|prettier|@ts-|SPDX)\b")
#: A line of a comment that begins a paragraph: a tag, an item, a usage.
TAG = re.compile(r"\s*(?:[@*-] ?|usage:|exit:|environment:|Requirements:)")
#: The words of a comment's sentence, and the words of BANNED that a comment may have: it names things that are code.
COMMENT_WORDS, COMMENT_MAY = 40, r"of (?:its|their|his|your) own"
#: A literal of code inside a comment: it counts as one word.
LITERAL = re.compile(r"`[^`]*`|\{@(?:code|link|linkplain)[^}]*\}|<code>.*?</code>", re.DOTALL)


def comments(path: Path) -> list[tuple[int, str]]:
    """The paragraphs of a file's comments and docstrings, each with its line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    slash = path.suffix in SLASH
    found: list[tuple[int, str]] = []
    block = _Block(1)
    for number, line in enumerate([*text.split("\n"), ""], 1):
        match = re.match(r"\s*//+\s?(.*)" if slash else r"\s*#+(?!!):?\s?(.*)", line)
        if block.parts and match and TAG.match(match[1]):
            found.append((block.line, " ".join(block.parts)))
            block = _Block(number)
        if match and match[1].strip() and not DIRECTIVE.match(match[1]):
            block.line = block.line if block.parts else number
            block.parts.append(match[1].strip())
        elif block.parts:
            found.append((block.line, " ".join(block.parts)))
            block = _Block(number)
    for number, body in _blocks(text, slash) if slash or path.suffix == ".py" else ():
        found += [(number, " ".join(part.split())) for part in re.split(r"\n\s*\n|\n\s*(?=[@*-]|usage:|exit:)|<p>|<li>|::\n", body)]
    return found


def _blocks(text: str, slash: bool) -> list[tuple[int, str]]:
    """The comments over several lines of Java and JavaScript; the docstrings of Python."""
    if slash:
        found = re.finditer(r"^\s*/\*\*?\s(.*?)\*/", text, re.DOTALL | re.MULTILINE)
        shown = [(text[: one.start()].count("\n") + 1, one[1]) for one in found]
        return [(line, re.sub(r"^\s*\* ?", "", body, flags=re.MULTILINE)) for line, body in shown]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [one for one in ast.walk(ast.parse(text)) if isinstance(one, kinds)]
    return [(getattr(one, "lineno", 1), shown) for one in nodes if (shown := ast.get_docstring(one))]


def code() -> list[Path]:
    """The files of the repository whose comments are read."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if {Path(name).suffix, Path(name).name} & (HASH | SLASH) and (ROOT / name).is_file()]


def comment_faults(path: Path) -> list[str]:
    """The faults of a file's comments: sentences that are too long, and words of BANNED."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    wrong = []
    for line, text in comments(path):
        for sentence in END.split(LITERAL.sub("CODE", text)):
            one = Sentence((sentence or "").strip(), line)
            faults = [f"{one.words} words"] if one.words > COMMENT_WORDS else []
            faults += banned(one.text, COMMENT_MAY)
            wrong += [f"{where}:{line}: {', '.join(faults)}: {one.text}"] if faults else []
    return wrong


def pages() -> list[Path]:
    """Every page of the repository."""
    import links

    return links.markdown_files()


def words(path: Path) -> int:
    """The words of a page, without code and generated blocks."""
    return sum(one.words for one in sentences(path.read_text(encoding="utf-8")))


def limit(path: Path) -> int:
    """The most words of a page."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    if generated := GENERATED_PAGE.search(name):
        return GENERATED_WORDS[generated[2]]
    return README if name in {f"{language}/README.md" for language in LANGUAGES} else PAGE


def complaints(path: Path) -> list[str]:
    """The faults of one page, each as `file:line: reason: sentence`."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    count = words(path)
    long = [f"{where}: {count} words, {limit(path)} are the most"] if count > limit(path) else []
    if GENERATED_PAGE.search(path.as_posix()):
        return long
    return long + [
        f"{where}:{one.line}: {', '.join(faults)}: {one.text}"
        for one in sentences(path.read_text(encoding="utf-8"))
        if (faults := one.faults())
    ]


def stats(path: Path) -> str:
    found = [one for one in sentences(path.read_text(encoding="utf-8")) if not one.table]
    counts = [one.words for one in found] or [0]
    return (
        f"{path}: {words(path)} words, {sum(counts) / len(counts):.1f} a sentence, {sum(count > GOOD for count in counts)} over {GOOD}, "
        f"{len(complaints(path))} faults"
    )


def main(arguments: list[str]) -> int:
    names = [one for one in arguments if one != "--stats"]
    missing = [name for name in names if not Path(name).is_file()]
    if missing or any(name.startswith("-") for name in names):
        print(f"no such file: {', '.join(missing)}\n{__doc__}", file=sys.stderr)
        return 2
    files = [Path(name).resolve() for name in names] or pages()
    if "--stats" in arguments:
        print("\n".join(map(stats, files)), f"{sum(map(words, files))} words in all", sep="\n")
        return 0
    wrong = [one for path in files for one in complaints(path)]
    wrong += [] if names else [one for path in code() for one in comment_faults(path)]
    if not names and (total := sum(map(words, files))) > ALL:
        wrong.append(f"{total} words in all pages, {ALL} are the most")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    print(f"prose: {len(files)} pages, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
