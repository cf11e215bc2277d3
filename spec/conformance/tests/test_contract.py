"""The contract itself: texts, cases and their coverage fit together, and faults in them are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from onewrite_conformance.contract.cases import Case, CaseError, coverage_faults, load_cases
from onewrite_conformance.contract.expectations import blamed, expectation_faults
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.places import CASES, SPEC
from onewrite_conformance.contract.requirements import Requirement, SpecError, read_spec
from onewrite_conformance.run.plan import times


def test_the_contract_has_no_faults() -> None:
    cases, requirements, faults = load_all()
    assert faults == []
    written = sum(len(re.findall(r"\bid: ", path.read_text())) for path in CASES.glob("*.yaml"))
    texts = [path.read_text() for path in SPEC.glob("0*.md")]
    examples = sum(len(re.findall(r"^```wire-example$", text, re.M)) for text in texts)
    assert len(cases) == written + examples
    assert len(requirements) == sum(len(re.findall(r"^### [A-Z]+-\d+", text, re.M)) for text in texts)


def test_a_lower_bound_is_100_ms_from_what_the_case_makes() -> None:
    bound: list[tuple[str, float]] = []
    for case in load_all()[0]:
        for expect in case.expectations():
            timing = expect.get("timing", {})
            lows = [phase["min_ms"] for phase in timing.get("bounds", {}).values() if "min_ms" in phase]
            lows += [timing["fields"]["idle_ns"]["min"] / 1e6] if "idle_ns" in timing.get("fields", {}) else []
            bound += [(case.id, times(case.server) + times(case.do) - low) for low in lows if low]
    assert len(bound) > 10
    assert [(name, room) for name, room in bound if room < 100] == []


def write(folder: Path, text: str) -> Path:
    (folder / "01-test.md").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("case", "expectation", "requirements"),
    [
        ("wire-post-200b", "segments", ["WIRE-1", "WIRE-2"]),
        ("wire-post-200b", "records", ["WIRE-3"]),
        ("wire-post-200b", "nodelay", ["TCP-1"]),
        ("wire-post-200b", "connections", ["POOL-1"]),
        ("wire-post-text-utf8", "segments", ["WIRE-1"]),
        ("wire-post-text-utf8", "stock_equal.bytes", ["WIRE-13"]),
        ("wire-post-text-utf8", "outcome", ["WIRE-1", "WIRE-13"]),
        ("example-wire-3-1", "segments", ["WIRE-2"]),
    ],
)
def test_an_expectation_is_blamed_on_the_requirement_it_shows(
    contract: tuple[list[Case], dict[str, Requirement]], case: str, expectation: str, requirements: list[str]
) -> None:
    found = next(one for one in contract[0] if one.id == case)
    assert blamed(found, expectation) == requirements


def test_an_expectation_that_no_requirement_owns_is_a_fault() -> None:
    case = Case("x", "X", ["WIRE-1"], [], expect={"segments": 1, "colour": "red"})
    known = {name: Requirement(name, "", "") for name in expectations_table()}
    (fault,) = expectation_faults([case], known)
    assert "x expects colour, which no requirement owns" in fault


def expectations_table() -> set[str]:
    table = yaml.safe_load((SPEC / "expectations.yaml").read_text())
    return {*table["about"], *table["owner"].values()}


def test_a_requirement_has_one_keyword(tmp_path: Path) -> None:
    write(tmp_path, "### TCP-1 Good\n\n> It **MUST** hold.\n\nWords.\n\nuntestable: no way\n")
    read = read_spec(tmp_path)
    assert (read["TCP-1"].level, read["TCP-1"].untestable) == ("MUST", "no way")


@pytest.mark.parametrize(
    "text",
    [
        "### TCP-1 None\n\n> It must hold.\n\nWhy.\n",
        "### TCP-1 Two\n\n> It **MUST** and **SHOULD** hold.\n\nWhy.\n",
        "### TCP-1 A\n\n> It **MUST**.\n\nWhy.\n\n### TCP-1 B\n\n> It **MUST**.\n\nWhy.\n",
        "### TCP-1 A\n\n> It **MUST**.\n\nWhy.\n\n```wire-example\nrequest: {}\n```\n",
        "### TCP-1 A\n\n> It **MUST**.\n",
        "### TCP-1 A\n\n> It **MUST**.\n\nuntestable: no way\n",
    ],
)
def test_a_broken_text_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecError, match=r"01-test.md:\d+"):
        read_spec(write(tmp_path, text))


def test_examples_inside_other_fences_are_not_run(tmp_path: Path) -> None:
    text = "### WIRE-1 A\n\n> It **MUST**.\n\nWhy.\n\n````\n```wire-example\nrequest: {}\nbytes: x\n```\n````\n"
    assert read_spec(write(tmp_path, text))["WIRE-1"].examples == []


def requirement(identifier: str, **fields: object) -> Requirement:
    made = Requirement(identifier, "t", "01-test.md:1", level="MUST")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def case(*covers: str) -> Case:
    return Case("a-case", "title", list(covers), [{"request": {}}])


def test_coverage() -> None:
    known = {"TCP-1": requirement("TCP-1")}
    assert coverage_faults([case("TCP-1")], known) == []
    assert "has no case" in coverage_faults([], known)[0]
    assert "no text defines" in coverage_faults([case("TCP-1", "TCP-2")], known)[0]
    assert coverage_faults([], {"TCP-1": requirement("TCP-1", untestable="reason")}) == []
    assert coverage_faults([], {"TCP-1": requirement("TCP-1", withdrawn=True)}) == []
    assert "withdrawn" in coverage_faults([case("TCP-1")], {"TCP-1": requirement("TCP-1", withdrawn=True)})[0]


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("cases: [{id: a, title: long enough, covers: [TCP-1], do: [{request: {}}], expekt: {}}]", "expekt"),
        ("cases: [{each: [{id: a, title: long enough}], covers: [TCP-1], do: [{request: {}}]}]", "group"),
        ("cases: [{each: [{id: a, title: long enough}, {id: b}], covers: [TCP-1], do: [{request: {}}]}]", "title"),
        ("cases: [{id: A_B, title: long enough, covers: [TCP-1], do: [{request: {}}]}]", "A_B"),
        ("cases: [{id: a, title: long enough, covers: [TCP-1], do: []}]", "do"),
        ("cases: [{id: a, title: long enough, covers: [TCP-1], do: [{request: {}}], routes: [connect], schemes: [http]}]", "no scheme"),
        ("cases: [{id: a, title: long enough, covers: [TCP-1], do: [{request: {}}], expect: {segments: one}}]", "one"),
    ],
)  # fmt: skip
def test_a_broken_case_is_named(tmp_path: Path, yaml: str, said: str) -> None:
    (tmp_path / "x.yaml").write_text(f"version: 1\nfamily: TCP\n{yaml}\n")
    with pytest.raises(CaseError, match=said):
        load_cases(tmp_path)


def test_capabilities_follow_from_the_case() -> None:
    made = case("TCP-1")
    made.do = [{"request": {"body": {"kind": "stream"}, "cancel_after_ms": 5, "headers": [["Expect", "100-continue"]]}}]
    made.open = {"hooks": "timing", "retries": 2, "socket_options": [{"name": "SO_KEEPALIVE", "value": 1}]}
    made.expect = {"timing": {"cause": "server"}, "events": ["*"]}
    wanted = {"body:stream", "cancel", "expect_continue", "timing", "retries", "socket_options", "tcp_info", "events"}
    assert set(made.capabilities()) == wanted


def test_a_group_is_as_many_cases(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """
version: 1
family: WIRE
defaults: {open: {pool_size: 1}}
cases:
  - each:
      - {id: a, title: long enough, request: {path: /a}, answer: {raw: "x"}}
      - {id: b, title: long enough, schemes: [http], request: {method: PUT}}
    covers: [WIRE-1]
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
version: 1
family: WIRE
cases:
  - each:
      - {id: a, title: long enough, answer: {then: close}}
      - {id: b, title: long enough}
    covers: [WIRE-1]
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


def test_each_family_runs_with_and_without_time_limits() -> None:
    """On each scheme and route, a fair part of its runs has them."""
    limited: dict[tuple[str, str, str], list[bool]] = {}
    for case in load_cases():
        for run in case.runs("onewrite"):
            key = (case.id.partition("-")[0], run.scheme, run.route)
            limited.setdefault(key, []).append(run.limited)
    assert len(limited) > 20
    for key, runs in limited.items():
        if len(runs) > 9:
            assert 0.2 < sum(runs) / len(runs) < 0.8, key
