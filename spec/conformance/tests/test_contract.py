"""The contract itself: texts, cases and their coverage fit together, and faults in them are found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from onewrite_conformance.contract.cases import Case, CaseError, coverage_faults, load_cases, within
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.places import CASES, CONFORMANCE, SPEC
from onewrite_conformance.contract.requirements import Requirement, SpecError, read_spec
from onewrite_conformance.driver import capabilities


def test_the_contract_has_no_faults() -> None:
    cases, requirements, faults = load_all()
    assert faults == []
    named = r"^(?:  |      )- \{?name: "
    written = sum(len(re.findall(named, path.read_text(), re.M)) for path in CASES.glob("*.yaml"))
    texts = [path.read_text() for path in SPEC.glob("0*.md")]
    examples = sum(len(re.findall(r"^```wire-example$", text, re.M)) for text in texts)
    assert len(cases) == written + examples
    assert len(requirements) == sum(len(re.findall(r"^### [A-Z]+-\d+", text, re.M)) for text in texts)


def times(value: Any) -> float:
    """The milliseconds that a part of a case names, all together, without time limits that only a fault reaches."""
    if isinstance(value, dict):
        here: float = sum(
            time
            for name, time in value.items()
            if name.endswith("_ms") and isinstance(time, (int, float)) and not (name == "timeout_ms" and time >= 2000)
        )
        here += value.get("interim_gap_ms", 0) * (len(value.get("interim", ())) - 1)
        return here + sum(times(inner) for inner in value.values())
    return sum(times(inner) for inner in value) if isinstance(value, list) else 0.0


def test_a_lower_bound_is_100_ms_from_what_the_case_makes() -> None:
    bound: list[tuple[str, float]] = []
    for case in load_all()[0]:
        steps = [step["expect"] for step in case.do if "expect" in step]
        for expect in [case.expect, *case.expect_for.values(), *steps]:
            timing = expect.get("timing", {})
            lows = [phase["min_ms"] for phase in timing.get("bounds", {}).values() if "min_ms" in phase]
            idle_ns = timing.get("fields", {}).get("idle_ns")
            lows += [idle_ns["min"] / 1e6] if idle_ns else []
            bound += [(case.id, times(case.server) + times(case.do) - low) for low in lows if low]
    assert len(bound) > 10
    assert [(name, room) for name, room in bound if room < 100] == []


def test_numbers_of_a_case_follow_the_limit_of_the_client() -> None:
    size = {"body": {"size": "limit-684"}}
    case = Case("WIRE-1", "a", "A title", [{"request": size}], expect={"records": {"max": "40000/limit+1"}})
    for limit, bytes_, records in ((16384, 15700, 3), (8192, 7508, 5)):
        at = case.at(limit)
        assert at.do == [{"request": {"body": {"size": bytes_}}}]
        assert at.expect == {"records": {"max": records}}


def write(folder: Path, text: str) -> Path:
    (folder / "01-test.md").write_text(text)
    return folder


def test_a_requirement_has_one_keyword(tmp_path: Path) -> None:
    write(tmp_path, "### TCP-1 Good\n\n> It **MUST** hold.\n\nWords.\n\nuntestable: no way\n")
    read = read_spec(tmp_path)
    assert (read["TCP-1"].title, read["TCP-1"].untestable) == ("Good", "no way")


@pytest.mark.parametrize(
    "text",
    [
        "### TCP-1 None\n\n> It must hold.\n\nWhy.\n",
        "### TCP-1 Two\n\n> It **MUST** and **MUST** hold.\n\nWhy.\n",
        "### TCP-1 A\n\n> It **MUST**.\n\nWhy.\n\n### TCP-1 B\n\n> It **MUST**.\n\nWhy.\n",
        "### TCP-1 A\n\n> It **MUST**.\n\nWhy.\n\n```wire-example\nrequest: {}\n```\n",
    ],
)
def test_a_broken_text_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecError, match=r"01-test.md:\d+"):
        read_spec(write(tmp_path, text))


def requirement(identifier: str, **fields: object) -> Requirement:
    made = Requirement(identifier, "t", "01-test.md:1")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def case(of: str) -> Case:
    return Case(of, "a-case", "title", [{"request": {}}])


def test_coverage() -> None:
    known = {"TCP-1": requirement("TCP-1")}
    assert coverage_faults([case("TCP-1")], known) == []
    assert "has no case" in coverage_faults([], known)[0]
    assert "no text defines" in coverage_faults([case("TCP-1"), case("TCP-2")], known)[0]
    assert coverage_faults([], {"TCP-1": requirement("TCP-1", untestable="reason")}) == []
    assert "says untestable" in coverage_faults([case("TCP-1")], {"TCP-1": requirement("TCP-1", untestable="no")})[0]


def test_withdrawn_ids_are_not_used_again() -> None:
    withdrawn: set[str] = set()
    for ids in re.findall(r"^\| ((?:[A-Z]+-\d+(?: to |, )?)+) \|", (SPEC / "README.md").read_text(), re.M):
        for family, first, last in re.findall(r"([A-Z]+)-(\d+)(?: to [A-Z]+-(\d+))?", ids):
            withdrawn |= {f"{family}-{number}" for number in range(int(first), int(last or first) + 1)}
    assert {"POOL-13", "SEC-5", "TIME-34", "TIME-3", "API-2", "TCP-13"} <= withdrawn
    assert withdrawn & set(read_spec()) == set()


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("wire", True), ("wire/5", True), ("wire/5/large", True), ("wire/5/large/onewrite/http/direct", True),
        ("wire/50", False), ("wire/5/lar", False), ("tcp", False), ("*/http/direct", True), ("wire/5/", True),
    ],
)  # fmt: skip
def test_a_run_is_named_by_the_beginning_of_its_path(pattern: str, fits: bool) -> None:
    assert within("wire/5/large/onewrite/http/direct", pattern) == fits


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("cases: [{name: a, title: long enough, of: TCP-1, do: [{request: {}}], expekt: {}}]", "expekt"),
        ("cases: [{each: [{name: a, title: long enough}], of: TCP-1, do: [{request: {}}]}]", "group"),
        ("cases: [{each: [{name: a, title: long enough}, {name: b}], of: TCP-1, do: [{request: {}}]}]", "title"),
        ("cases: [{name: A_B, title: long enough, of: TCP-1, do: [{request: {}}]}]", "A_B"),
        ("cases: [{name: a, title: long enough, of: TCP-1, do: []}]", "do"),
        ("cases: [{name: a, title: long enough, of: TCP-1, do: [{request: {}}], routes: [connect], schemes: [http]}]", "no scheme"),
        ("cases: [{name: a, title: long enough, of: TCP-1, do: [{request: {}}], expect: {segments: one}}]", "one"),
    ],
)  # fmt: skip
def test_a_broken_case_is_named(tmp_path: Path, yaml: str, said: str) -> None:
    (tmp_path / "x.yaml").write_text(f"version: 2\nfamily: TCP\n{yaml}\n")
    with pytest.raises(CaseError, match=said):
        load_cases(tmp_path)


def test_a_group_is_as_many_cases(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """
version: 2
family: WIRE
defaults: {open: {pool_size: 1}}
cases:
  - each:
      - {name: a, title: long enough, request: {path: /a}, answer: {raw: "x"}}
      - {name: b, title: long enough, schemes: [http], request: {method: PUT}}
    of: WIRE-1
    server: {answers: [{then: close}, {body: {text: mine}}]}
    do: [{pause_ms: 1}, {request: {body: {kind: text, size: 1}}}, {request: {path: /next}}]
"""
    )
    a, b = load_cases(tmp_path)
    body = {"kind": "text", "size": 1}
    assert a.do == [{"pause_ms": 1}, {"request": {"body": body, "path": "/a"}}, {"request": {"path": "/next"}}]
    assert a.server["answers"] == [{"then": "close", "raw": "x"}, {"body": {"text": "mine"}}]
    assert (a.schemes, b.schemes) == (["http", "https"], ["http"])
    assert b.do[1] == {"request": {"body": body, "method": "PUT"}}
    assert b.server["answers"][0] == {"then": "close"}
    assert a.open == b.open == {"pool_size": 1}


def test_a_step_for_each_path_is_as_many_steps(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """
version: 2
family: WIRE
cases:
  - each:
      - {name: a, title: long enough, answer: {then: close}}
      - {name: b, title: long enough}
    of: WIRE-1
    server: {by_path: {/x: {raw: "1"}, /y: {raw: "2"}}}
    do: [{request: {method: GET}, each_path: true, repeat: 2}, {request: {path: /z}}]
"""
    )
    a, b = load_cases(tmp_path)
    paths = [{"request": {"method": "GET", "path": path}, "repeat": 2} for path in ("/x", "/y")]
    assert a.do == b.do == [*paths, {"request": {"path": "/z"}}]
    assert a.server["by_path"] == {"/x": {"raw": "1", "then": "close"}, "/y": {"raw": "2", "then": "close"}}
    assert b.server["by_path"] == {"/x": {"raw": "1"}, "/y": {"raw": "2"}}


def test_no_line_of_a_case_is_longer_than_300_characters() -> None:
    long = [
        f"{path.name}:{number}"
        for path in CASES.glob("*.yaml")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 300
    ]
    assert long == []


def test_each_capability_that_a_case_needs_is_in_the_protocol() -> None:
    text = (CONFORMANCE / "PROTOCOL.md").read_text()
    listed = {name for line in re.findall(r"^- (`.*?): ", text, re.M) for name in re.findall(r"`([a-z_:]+)`", line)}
    assert {one for one in capabilities() if not one.startswith("body:")} <= listed
    for case in load_all()[0]:
        assert {one for run in case.runs("onewrite") for one in run.capabilities()} <= capabilities(), case.id


def test_the_protocol_is_short() -> None:
    assert len((CONFORMANCE / "PROTOCOL.md").read_text().split()) < 1500
