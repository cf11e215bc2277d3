#!/usr/bin/env python3
"""Keeps the runs of the four languages' matrices, and writes them into docs/versions.md.

usage: compatibility.py run LANGUAGE --by COMMAND --cell NAME --runtime NAME=VERSION --base NAME=VERSION
                            [--with NAME=VERSION …] [--speaks VERSION] --junit FILE|PATTERN … [-- COMMAND …]
       compatibility.py forget LANGUAGE --by COMMAND
       compatibility.py collect [LANGUAGE…] [--from DIRECTORY] [--whole COMMAND]
       compatibility.py render [--check]

`run` runs a test command (or none: its reports are there already), counts its JUnit reports and appends one line to
compatibility/LANGUAGE.jsonl in the folder of reports. `forget` drops the lines of a command there: it begins anew.
`collect` takes such lines over into docs/compatibility/: a cell replaces the one of the same name; with --whole the cells
of that command which did not run this time go. `render` writes the tables of docs/versions.md.
exit of `run`: that of the command; of `render --check`: 1 where the page is stale or a line is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "compatibility"
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- compatibility:begin -->\n", "<!-- compatibility:end -->\n"
REPORTS = Path(os.environ.get("ONEWRITE_REPORTS") or ROOT / "build" / "reports") / "compatibility"
LANGUAGES = {"python": "Python", "ruby": "Ruby", "node": "Node", "java": "Java"}
#: What each line holds, and of which type it is.
FIELDS = {
    "cell": str, "by": str, "runtime": list, "base": list, "with": dict, "passed": int, "failed": int, "skipped": int,
    "exit": int, "date": str, "commit": str,
}  # fmt: skip

Line = dict[str, Any]
Version = tuple[int, ...]


# -- what ran ------------------------------------------------------------------------------------------


def reports(patterns: Sequence[str]) -> list[Path]:
    """The files that patterns name; only the last part of a path may have a wildcard."""
    return [file for pattern in patterns for file in sorted(Path(pattern).parent.glob(Path(pattern).name))]


def counted(patterns: Sequence[str]) -> dict[str, int]:
    """Passed, failed and skipped test cases of all JUnit files that the patterns name."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for file in reports(patterns):
        for case in ET.parse(file).iter("testcase"):
            kinds = {child.tag for child in case}
            counts["failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"] += 1
    return counts


def commit_of(language: str) -> str:
    """The last commit that changed the language's folder; with a + where the folder differs from it."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", language)
        return git("log", "-1", "--format=%h", "--abbrev=10", "--", language) + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def run(options: argparse.Namespace) -> int:
    for file in reports(options.junit) if options.command else ():
        file.unlink()  # a run that breaks off must not be counted by the reports of an earlier one
    status = 0
    if options.command:
        status = subprocess.run(options.command, check=False).returncode
    line = {
        "cell": options.cell,
        "by": options.by,
        "runtime": [*options.runtime, options.speaks or options.runtime[1]],
        "base": list(options.base),
        "with": dict(sorted(options.beside)),
        **counted(options.junit),
        "exit": status,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit_of(options.language),
    }
    REPORTS.mkdir(parents=True, exist_ok=True)
    with (REPORTS / f"{options.language}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return status


def forget(options: argparse.Namespace) -> int:
    """Drop what a command recorded before: it begins anew."""
    file = REPORTS / f"{options.language}.jsonl"
    kept = [line for line in read(file) if line["by"] != options.by]
    if file.is_file():
        file.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    return 0


# -- what is kept --------------------------------------------------------------------------------------


def read(file: Path) -> list[Line]:
    """The lines of a file. Raises ValueError with the place of a wrong line."""
    lines = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines() if file.is_file() else (), 1):
        line = json.loads(text)
        wrong = [name for name, kind in FIELDS.items() if type(line.get(name)) is not kind] or sorted(line.keys() - FIELDS.keys())
        if wrong:
            raise ValueError(f"{file.name}:{number}: {', '.join(wrong)}")
        lines.append(line)
    return lines


def key(line: Line) -> tuple[str, str]:
    return line["by"], line["cell"]


def ordered(lines: Iterable[Line]) -> list[Line]:
    """By base, runtime and command, one line per cell: the last."""
    last = {key(line): line for line in lines}.values()
    return sorted(last, key=lambda one: (one["base"][0], version(one["base"][1]), one["runtime"][0], version(one["runtime"][1]), key(one)))


def collect(options: argparse.Namespace) -> int:
    source = Path(options.source) if options.source else REPORTS
    for language in options.languages or LANGUAGES:
        fresh = [line for file in sorted(source.rglob(f"{language}.jsonl")) for line in read(file)]
        if not fresh:
            continue
        ran = {key(line) for line in fresh}
        kept = [line for line in read(KEPT / f"{language}.jsonl") if line["by"] != options.whole or key(line) in ran]
        merged = ordered([*kept, *fresh])
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{language}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in merged), encoding="utf-8")
        print(f"compatibility: {language}: {len(ran)} cells taken over, {len(merged)} kept")
    PAGE.write_text(page(), encoding="utf-8")
    return 0


# -- what the packages declare -------------------------------------------------------------------------


def version(text: str) -> Version:
    """The numbers that a version begins with: of 4.1.128.Final (4, 1, 128)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def within(one: Version, least: Version, below: Version | None) -> bool:
    return least <= one[: max(len(least), 1)] and (below is None or one < below)


def ranges(text: str) -> Iterator[tuple[str, str | None]]:
    """(at least, below) of each alternative of a range: `>=1.26,<3`, `>=7.29.1 <8 || >=8.10.1 <9`, `>= 2.5`, `^1.9.0`."""
    for part in text.split("||"):
        caret = re.search(r"\^(\d+)(?:\.\d+)*", part)
        if caret:
            yield caret[0][1:], str(int(caret[1]) + 1)
            continue
        least, below = re.search(r">=\s*(\d+(?:\.\d+)*)", part), re.search(r"<\s*(\d+(?:\.\d+)*)", part)
        if least:
            yield least[1], below[1] if below else None


def found(file: str, pattern: str) -> str:
    """The first group of a pattern in a file. Raises ValueError if it is not there."""
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{file} has no {pattern!r}: tell docs/tools/compatibility.py where the range is now")
    return match[1]


def requirements(file: str) -> list[tuple[str, str]]:
    """(name, range) of each dependency and extra of a pyproject.toml."""
    lines = re.findall(r"^(?:optional-)?dependencies[.\w]* = \[(.*)\]$", (ROOT / file).read_text(encoding="utf-8"), re.M)
    return [pair for line in lines for pair in re.findall(r'"([\w-]+)(>=[^"]+)"', line)]


def declared() -> dict[str, list[tuple[str, str, str]]]:
    """By language: (name of the runtime or base library, range, file that says so)."""
    python, node, gem, pom = "python/pyproject.toml", "node/package.json", "ruby/onewrite.gemspec", "java/pom.xml"
    package = json.loads((ROOT / node).read_text(encoding="utf-8"))
    return {
        "python": [
            ("runtime", found(python, r'requires-python = "([^"]+)"'), python),
            *((name, text, python) for name, text in requirements(python)),
        ],
        "ruby": [("runtime", found(gem, r'required_ruby_version = "([^"]+)"'), gem)],
        "node": [
            ("runtime", package["engines"]["node"], node),
            *((name, text, node) for name, text in package["peerDependencies"].items()),
        ],
        "java": [
            ("runtime", ">=" + found(pom, r"<maven.compiler.release>([\d.]+)<"), pom),
            *(
                (name, f">={found(pom, rf'<{name}.oldest>([^<]+)<')}, made with {found(pom, rf'<{name}.version>([^<]+)<')}", pom)
                for name in ("netty", "okhttp", "reactor-netty", "ahc")
            ),
        ],
    }


# -- the page ------------------------------------------------------------------------------------------


def good(line: Line) -> bool:
    return bool(line["passed"]) and not line["failed"] and not line["exit"]


def shown(lines: Sequence[Line]) -> str:
    """One cell of a table: a failure if there is one, else the run with the most tests."""
    line = max(lines, key=lambda one: (not good(one), one["passed"]))
    if not good(line):
        return f"**{line['failed']} of {line['passed'] + line['failed']} failed**" if line["failed"] else "**broke off**"
    return f"{line['passed']}" + (f", {line['skipped']} skipped" if line["skipped"] else "")


def named(line: Line) -> str:
    beside = ", ".join(f"{name} {number}" for name, number in line["with"].items())
    return f"{line['base'][0]} {line['base'][1]}" + (f" ({beside})" if beside else "")


def runtime(line: Line) -> str:
    name, number, speaks = line["runtime"]
    return f"{name} {number}" + (f" (Ruby {speaks})" if speaks != number else "")


def grid(lines: Sequence[Line]) -> list[str]:
    """Base libraries down, runtimes across."""
    columns = sorted({(line["runtime"][0], version(line["runtime"][1]), runtime(line)) for line in lines})
    rows = list(dict.fromkeys(named(line) for line in lines))
    table = [f"| | {' | '.join(column[2] for column in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        cells = [[line for line in lines if named(line) == row and runtime(line) == column[2]] for column in columns]
        table.append(f"| {row} | {' | '.join(shown(cell) if cell else '' for cell in cells)} |")
    return table


def ends(name: str, text: str, lines: Sequence[Line]) -> Iterator[str]:
    """Rows of the table of ranges: the oldest and the newest version that ran, of each alternative of a range."""
    for least, below in ranges(text):
        ran: dict[Version, tuple[str, list[Line]]] = {}
        for line in lines:
            other = [(beside, number) for beside, number in line["with"].items() if beside == name]
            if name == "runtime":
                number, label = line["runtime"][2], runtime(line)
            elif line["base"][0] == name or other:
                number = other[0][1] if other else line["base"][1]
                label = number
            else:
                continue
            if within(version(number), version(least), version(below) if below else None):
                ran.setdefault(version(number), (label, []))[1].append(line)
        oldest, newest = min(ran, default=None), max(ran, default=None)

        first, last = ("not run" if which is None else label_of(*ran[which]) for which in (oldest, newest))
        if oldest is not None and oldest[: len(version(least))] != version(least):
            first = f"{least}: not run; {first}"
        yield f"{least} or later{', below ' + below if below else ''} | {first} | {last}"


def label_of(label: str, lines: Sequence[Line]) -> str:
    return label if all(map(good, lines)) else f"{label}, **failed**"


def page() -> str:
    """docs/versions.md with its tables as they were recorded."""
    parts = []
    ranges_of = declared()
    table = ["| | declared | in | oldest that ran | newest that ran |", "|---|---|---|---|---|"]
    kept = {language: read(KEPT / f"{language}.jsonl") for language in LANGUAGES}
    for language, title in LANGUAGES.items():
        for name, text, file in ranges_of[language]:
            label = title if name == "runtime" else f"{title}: {name}"
            for row in ends(name, text, kept[language]):
                wide, _, rest = row.partition(" | ")
                table.append(f"| {label} | {wide} | [{Path(file).name}](../{file}) | {rest} |")
    parts.append(
        "\n".join(table) + "\n"
    )
    for language, title in LANGUAGES.items():
        lines = kept[language]
        parts.append(f"### {title}\n\n" + "\n".join([*grid(lines), "", *runs(lines)] if lines else ["Not run."]) + "\n")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(parts) + END + after


def runs(lines: Sequence[Line]) -> Iterator[str]:
    """When, at which commit and by which command the cells ran."""
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line["by"], line["date"], line["commit"]), []).append(line)
    for (by, date, commit), mine in sorted(groups.items()):
        where = f"commit {commit.rstrip('+')}" + (" and changes on top" if commit.endswith("+") else "")
        bad = sum(not good(line) for line in mine)
        count = f"{len(mine)} {'runs' if len(mine) > 1 else 'run'}"
        passed = sum(line["passed"] for line in mine)
        yield f"- `{by}`, {date}, {where}: {count}, {passed} tests passed" + (f"; {bad} of the runs failed" if bad else "")


def render(options: argparse.Namespace) -> int:
    try:
        wanted = page()
        for language in LANGUAGES:
            file = KEPT / f"{language}.jsonl"
            if read(file) != ordered(read(file)):
                raise ValueError(f"{file.name}: not in order, or a cell stands twice: take results over by `collect`")
    except ValueError as error:
        print(f"docs/compatibility: {error}", file=sys.stderr)
        return 1
    if options.check:
        if PAGE.read_text(encoding="utf-8") != wanted:
            print("docs/versions.md is stale: docs/tools/compatibility.py render", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


def pair(text: str) -> tuple[str, str]:
    name, _, number = text.partition("=")
    if not name or not version(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VERSION")
    return name, number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run", help="run tests and record how they ended")
    one.add_argument("language", choices=LANGUAGES)
    one.add_argument("--by", required=True, help="the command that a user runs")
    one.add_argument("--cell", required=True, help="the next run of this name replaces the row")
    one.add_argument("--runtime", required=True, type=pair)
    one.add_argument("--speaks", help="the version of the language, where the runtime has another")
    one.add_argument("--base", required=True, type=pair)
    one.add_argument("--with", dest="beside", action="append", default=[], type=pair)
    one.add_argument("--junit", required=True, action="append")
    one.set_defaults(do=run)
    two = commands.add_parser("collect", help="take what was recorded over into docs/compatibility")
    two.add_argument("languages", nargs="*", choices=[*LANGUAGES, []])
    two.add_argument("--from", dest="source", help="another folder of reports, such as CI's artifacts")
    two.add_argument("--whole", help="this command ran in full: its other cells go")
    two.set_defaults(do=collect)
    four = commands.add_parser("forget", help="drop what a command recorded in the folder of reports")
    four.add_argument("language", choices=LANGUAGES)
    four.add_argument("--by", required=True)
    four.set_defaults(do=forget)
    three = commands.add_parser("render", help="write the tables of docs/versions.md")
    three.add_argument("--check", action="store_true")
    three.set_defaults(do=render)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:cut])
    options.command = words[cut + 1 :]
    status: int = options.do(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
