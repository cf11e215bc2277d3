"""A check's report as JUnit XML: one test case per rule."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from onewrite_cli.check.outcome import Outcome, Report, State

__all__ = ["as_junit"]

#: What XML 1.0 cannot hold, whatever the escaping: a command may print anything.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: Report) -> str:
    suite = ElementTree.Element("testsuite", name="onewrite check")
    for outcome in report.outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="onewrite.check", name=f"{outcome.rule.id} {outcome.rule.name}"
        )
        _fill(case, outcome)
    if report.problem is not None:
        case = ElementTree.SubElement(suite, "testcase", classname="onewrite.check", name="conclusive")
        ElementTree.SubElement(case, "error", message=_clean(report.problem), type="inconclusive")
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _clean("\n".join([" ".join(report.command), f"seen by {report.witness}", *report.notes]))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _fill(case: ElementTree.Element, outcome: Outcome) -> None:
    detail = _clean(outcome.detail)
    if outcome.state is State.FOUND:
        message = f"{outcome.rule.title}: {outcome.count} of {outcome.of} {outcome.unit}"
        failure = ElementTree.SubElement(case, "failure", message=message, type=outcome.rule.id)
        failure.text = "\n".join([detail, *map(_clean, outcome.examples), f"cure: {outcome.cure}"])
    elif outcome.state is State.INCONCLUSIVE:
        ElementTree.SubElement(case, "error", message=detail, type="inconclusive")
    elif outcome.state in (State.SKIPPED, State.OFF):
        ElementTree.SubElement(case, "skipped", message=detail or outcome.state.value)
    else:
        output = ElementTree.SubElement(case, "system-out")
        output.text = f"{outcome.state.value}: {detail}"


def _clean(text: str) -> str:
    return FORBIDDEN.sub("�", text)
