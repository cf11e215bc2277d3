"""Reads the requirements and the wire examples out of spec/0*.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onewrite_conformance.contract.places import SPEC, read_yaml

__all__ = ["Example", "Requirement", "SpecError", "read_spec"]

HEADING = re.compile(r"### ([A-Z]+-[0-9]+) (.+)")
QUOTE = re.compile(r"^>.*(?:\n>.*)*", re.M)
MUST = re.compile(r"\*\*MUST(?: NOT)?\*\*")
UNTESTABLE = re.compile(r"^untestable: (.+)", re.M)
EXAMPLE = re.compile(r"^```wire-example\n(.*?)^```$", re.M | re.S)


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
    untestable: str | None = None
    examples: list[Example] = field(default_factory=list)


def read_spec(folder: Path = SPEC) -> dict[str, Requirement]:
    """Return the requirements by id, in the order of the text. Raises SpecError naming every fault."""
    found: dict[str, Requirement] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("0*.md")):
        line = 1
        for part in re.split(r"^(?=#{1,3} )", path.read_text(), flags=re.M):
            where = f"{path.name}:{line}"
            line += part.count("\n")
            heading = HEADING.match(part)
            if heading is None:
                faults += [f"{where}: a wire-example stands under no requirement"] if EXAMPLE.search(part) else []
                continue
            one = Requirement(heading[1], heading[2], where)
            if one.id in found:
                faults.append(f"{where}: {one.id} is defined twice ({found[one.id].where})")
            found[one.id] = one
            quote = QUOTE.search(part)
            musts = len(MUST.findall(quote[0])) if quote else 0
            if musts != 1:
                faults.append(f"{where}: {one.id} has {musts} bold MUST, not one")
            if untestable := UNTESTABLE.search(part):
                one.untestable = untestable[1]
            for number, text in enumerate(EXAMPLE.findall(part), 1):
                data = read_yaml(text)
                if not {"request", "bytes"} <= data.keys():
                    faults.append(f"{where}: a wire-example needs `request` and `bytes`")
                    continue
                one.examples.append(Example(one.id, number, data, where))
    if faults:
        raise SpecError("\n".join(faults))
    return found
