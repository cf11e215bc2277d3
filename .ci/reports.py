"""Reads the JUnit files that suites of tests leave."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

#: The judge's word for a case that a driver lacks the capability for: nothing was left out.
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Case:
    """One test of a report.

    `id`: what `make TEST=` takes. `kind`: "passed", "failed", "unsteady", "skipped" or "not applicable".
    `text`: the failure, or why it was skipped.
    """

    report: str
    id: str
    kind: str
    text: str

    @property
    def unit(self) -> str:
        """The file or class that the test is in."""
        return self.id.split("::")[0].split("#")[0]


def reports_of(report: Path) -> list[Path]:
    """The files of a suite whose report is `name.xml`: that file, and `name.*.xml`."""
    return sorted([*report.parent.glob(report.name), *report.parent.glob(f"{report.stem}.*.xml")])


def read(file: Path) -> list[Case]:
    """The tests of a JUnit file."""
    return [_case(file.stem, node) for node in ElementTree.parse(file).getroot().iter("testcase")]


def _case(report: str, node: ElementTree.Element) -> Case:
    failure = _first(node, "failure", "error")
    if failure is not None:
        return Case(report, _id(node), "failed", _text(failure))
    # Surefire's element for a test that failed, and passed when it was run again.
    flaky = _first(node, "flakyFailure", "flakyError")
    if flaky is not None:
        return Case(report, _id(node), "unsteady", _text(flaky))
    skipped = node.find("skipped")
    if skipped is None:
        return Case(report, _id(node), "passed", "")
    reason = skipped.get("message") or (skipped.text or "").strip() or "no reason given"
    return Case(report, _id(node), NOT_APPLICABLE if reason.startswith(NOT_APPLICABLE) else "skipped", reason)


def _first(node: ElementTree.Element, *names: str) -> ElementTree.Element | None:
    return next((found for name in names if (found := node.find(name)) is not None), None)


def _text(node: ElementTree.Element) -> str:
    return "\n".join(filter(None, (node.get("message", "").strip(), (node.text or "").strip())))


def _id(node: ElementTree.Element) -> str:
    """`file::Class::name` where the report names the file, as pytest's ids; else `Class#name`."""
    file, owner, name = (node.get(key, "") for key in ("file", "classname", "name"))
    if not file:
        return f"{owner}#{name}"
    module = file.rpartition(".")[0].replace("/", ".")
    classes = owner.removeprefix(module).strip(".") if owner.startswith(module) else ""
    return "::".join([file, *filter(None, classes.split(".")), name])
