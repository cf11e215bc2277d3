"""Reads the requirements and the wire examples out of spec/0*.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from onewrite_conformance.contract.places import SPEC

__all__ = ["Example", "Requirement", "SpecError", "read_spec"]

HEADING = re.compile(r"^### ([A-Z]+-[0-9]+)\b(.*)$")
LEVEL = re.compile(r"\*\*(MUST NOT|MUST|SHOULD NOT|SHOULD|MAY)\*\*")
FENCE = re.compile(r"^(`{3,})\s*(\S*)\s*$")


class SpecError(Exception):
    """The text breaks the form that CASES.md describes; the message names file and line."""


@dataclass
class Example:
    """A fenced `wire-example` block."""

    requirement: str
    number: int
    data: dict[str, Any]
    where: str


@dataclass
class Requirement:
    """One heading `### ID` with its one normative block quote."""

    id: str
    title: str
    where: str
    level: str = ""  # MUST, SHOULD or MAY; a NOT does not change the level
    text: str = ""
    untestable: str | None = None
    examples: list[Example] = field(default_factory=list)
    section: str = ""  # the title of its file, without the number


def read_spec(folder: Path = SPEC) -> dict[str, Requirement]:
    """Return the requirements by id, in the order of the text. Raises SpecError naming every fault."""
    found: dict[str, Requirement] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("0*.md")):
        for requirement in _read_file(path, faults):
            if requirement.id in found:
                faults.append(f"{requirement.where}: {requirement.id} is defined twice ({found[requirement.id].where})")
            found[requirement.id] = requirement
    if faults:
        raise SpecError("\n".join(faults))
    return found


def _read_file(path: Path, faults: list[str]) -> list[Requirement]:
    requirements: list[Requirement] = []
    current: Requirement | None = None
    quote: list[str] = []
    section = ""
    fence: str | None = None
    block: list[str] | None = None
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{path.name}:{number}"
        fenced = FENCE.match(line)
        if fence is not None:
            if fenced and fenced.group(1) == fence and not fenced.group(2):
                if block is not None and current is not None:
                    _add_example(current, block, where, faults)
                fence, block = None, None
            elif block is not None:
                block.append(line)
            continue
        if fenced:
            fence = fenced.group(1)
            if fenced.group(2) == "wire-example":
                block = []
                if current is None:
                    faults.append(f"{where}: a wire-example stands under no requirement")
            continue
        heading = HEADING.match(line)
        if heading or line.startswith(("# ", "## ")):
            current = None
        if line.startswith("# "):
            section = line.lstrip("#. 0123456789")
        if heading:
            title = heading.group(2).strip(" :·-—")
            current = Requirement(heading.group(1), title, where, section=section)
            requirements.append(current)
            quote = []
        elif current is not None:
            if line.startswith(">") and not current.text:
                quote.append(line.lstrip("> ").rstrip())
            elif quote:
                current.text = " ".join(quote)
                quote = []
            match = re.match(r"untestable:\s*(.+)", line)
            if match:
                current.untestable = match.group(1)
        if current is not None and quote and number == len(lines):
            current.text = " ".join(quote)
    for requirement in requirements:
        levels = LEVEL.findall(requirement.text)
        if len(levels) == 1:
            requirement.level = levels[0].split()[0]
        else:
            faults.append(f"{requirement.where}: {requirement.id} has {len(levels)} bold MUST/SHOULD/MAY, not one")
    return requirements


def _add_example(requirement: Requirement, block: list[str], where: str, faults: list[str]) -> None:
    try:
        data = yaml.safe_load("\n".join(block) + "\n")
    except yaml.YAMLError as error:
        faults.append(f"{where}: the wire-example of {requirement.id} is not YAML: {error}")
        return
    if not isinstance(data, dict) or "request" not in data or "bytes" not in data:
        faults.append(f"{where}: a wire-example needs `request` and `bytes`")
        return
    requirement.examples.append(Example(requirement.id, len(requirement.examples) + 1, data, where))
