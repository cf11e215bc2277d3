"""Reads the cases, fills in what they leave out, and makes runs of them: clients × schemes × routes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from onewrite_conformance.contract.places import CASES, SCHEMAS, read_yaml
from onewrite_conformance.contract.requirements import Example, Requirement

__all__ = [
    "LIMIT",
    "Case",
    "CaseError",
    "Run",
    "case_of",
    "coverage_faults",
    "example_case",
    "load_cases",
    "read_cases",
    "within",
]

SCHEME_OF_ROUTE = {"direct": ("http", "https"), "forward": ("http",), "connect": ("https",)}
EXAMPLE_REPEAT = 20
LIMIT = 16384  # bytes up to which a client joins, where judge.yaml names no other
OF_LIMIT = re.compile(r"(?:(\d+)/)?limit([+-]\d+)?")
MERGED = ("request", "answer")  # keys of a group's item that are merged into the case and replace nothing


class CaseError(Exception):
    """A case file breaks the schema or the rules of CASES.md; the message names every fault."""


@dataclass
class Case:
    """One case, complete with defaults."""

    of: str  # the requirement that it shows
    name: str
    title: str
    do: list[dict[str, Any]]
    where: str = ""
    why: str = ""
    needs: list[str] = field(default_factory=list)
    schemes: list[str] = field(default_factory=lambda: ["http", "https"])
    routes: list[str] = field(default_factory=lambda: ["direct"])
    env: dict[str, str] = field(default_factory=dict)
    open: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    expect: dict[str, Any] = field(default_factory=dict)
    expect_for: dict[str, dict[str, Any]] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)  # what is compared with stock
    ignore: list[str] = field(default_factory=list)  # what differs by chance
    example: str | None = None  # the bytes of a wire-example

    @property
    def id(self) -> str:
        """The path of the case: wire/4/boundary-above."""
        return f"{self.of.lower().replace('-', '/')}/{self.name}"

    def runs(self, client: str) -> Iterator[Run]:
        for scheme in self.schemes:
            for route in self.routes:
                if scheme in SCHEME_OF_ROUTE[route]:
                    yield Run(self, client, scheme, route)

    def at(self, limit: int) -> Case:
        """The case for a client that joins up to `limit` bytes."""
        parts = {name: _at(getattr(self, name), limit) for name in ("do", "expect", "expect_for")}
        return replace(self, **parts)

    def requests(self) -> Iterator[dict[str, Any]]:
        for step in self.do:
            if "request" in step:
                yield step["request"]
            elif isinstance(step.get("batch"), list):
                yield from step["batch"]
            elif "batch" in step:
                yield step["batch"]["request"]


@dataclass(frozen=True)
class Run:
    """One case for one client kind, scheme and route."""

    case: Case
    client: str
    scheme: str
    route: str

    @property
    def path(self) -> str:
        return f"{self.case.id}/{self.client}/{self.scheme}/{self.route}"

    @property
    def combination(self) -> tuple[str, str, str]:
        return self.client, self.scheme, self.route

    def expect(self, step: dict[str, Any] | None = None) -> dict[str, Any]:
        merged = dict(self.case.expect)
        for axis in (self.scheme, self.route, self.client):
            merged |= self.case.expect_for.get(axis, {})
        return merged | ((step or {}).get("expect") or {})

    def by_stock(self) -> Run:
        """The same run by the stock client."""
        return Run(self.case, "stock", self.scheme, self.route)

    def capabilities(self) -> list[str]:
        """What the case needs, and the kinds of its bodies and its route."""
        kinds = [(request.get("body") or {}).get("kind", "none") for request in self.case.requests()]
        extra = {"forward": ["proxy_forward"], "connect": ["proxy_connect"]}.get(self.route, [])
        return [*self.case.needs, *(f"body:{kind}" for kind in dict.fromkeys(kinds) if kind != "none"), *extra]

    def __hash__(self) -> int:
        return hash(self.path)


def _at(part: Any, limit: int) -> Any:
    """The part of a case with `limit`, `limit-100` and `40000/limit+1` as numbers."""
    if isinstance(part, dict):
        return {name: _at(value, limit) for name, value in part.items()}
    if isinstance(part, list):
        return [_at(value, limit) for value in part]
    if isinstance(part, str) and (found := OF_LIMIT.fullmatch(part)):
        return (limit if found[1] is None else int(found[1]) // limit) + int(found[2] or 0)
    return part


def within(path: str, pattern: str) -> bool:
    """Whether a run is the pattern's: a part of its path from the beginning (`wire`, `wire/4`), or wildcards."""
    return path == pattern or path.startswith(pattern.rstrip("/") + "/") or fnmatchcase(path, pattern)


@lru_cache
def _validator(definition: str = "") -> Any:
    """Of a whole file, or of one of its definitions."""
    schema: dict[str, Any] = json.loads((SCHEMAS / "case-v2.schema.json").read_text())
    if definition:
        schema = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    return jsonschema.Draft202012Validator(schema)


def _faults(data: Any, validator: Any, where: str) -> list[str]:
    faults = []
    for error in validator.iter_errors(data):
        deepest = jsonschema.exceptions.best_match([error]) or error
        place = "/".join(str(part) for part in deepest.absolute_path)
        faults.append(f"{where}: {place}: {deepest.message[:300]}")
    return faults


def load_cases(folder: Path = CASES) -> list[Case]:
    """Return all cases. Raises CaseError naming every fault."""
    return read_cases(sorted(folder.glob("*.yaml")))


def read_cases(files: list[Path]) -> list[Case]:
    """Return the cases of these files. Raises CaseError naming every fault."""
    cases: list[Case] = []
    faults: list[str] = []
    for path in files:
        try:
            data = read_yaml(path.read_text())
        except yaml.YAMLError as error:
            faults.append(f"{path.name}: {error}")
            continue
        found = _file_faults(data, path.name)
        faults += found
        if found:
            continue
        defaults = data.get("defaults", {})
        for raw in _single(data["cases"]):
            cases.append(case_of(copy.deepcopy(defaults) | raw, path.name))
    seen: dict[str, str] = {}
    for case in cases:
        if case.id in seen:
            faults.append(f"{case.where}: the id {case.id} is taken ({seen[case.id]})")
        seen[case.id] = case.where
        if not any(case.runs("onewrite")):
            faults.append(f"{case.where}: {case.id} has no scheme that goes with its routes")
    if faults:
        raise CaseError("\n".join(faults))
    return cases


def _file_faults(data: Any, name: str) -> list[str]:
    """Schema faults, named by case id where there is one."""
    if not isinstance(data, dict) or not isinstance(data.get("cases"), list):
        return _faults(data, _validator(), name) or [f"{name}: no cases"]
    frame = {key: value for key, value in data.items() if key != "cases"} | {"cases": []}
    faults = _faults(frame, _validator(), name)
    for raw in data["cases"]:
        if isinstance(raw, dict) and "each" in raw:
            faults += _faults(raw, _validator("group"), f"{name}: a group")
    if faults:
        return faults
    for raw in _single(data["cases"]):
        label = raw.get("name", "?") if isinstance(raw, dict) else "?"
        faults += _faults(raw, _validator("case"), f"{name}: {label}")
    return faults


def _single(raws: list[Any]) -> Iterator[Any]:
    """The cases with groups and steps of many paths taken apart."""
    for raw in _ungrouped(raws):
        if isinstance(raw, dict) and isinstance(raw.get("do"), list):
            paths = (raw.get("server") or {}).get("by_path", {})
            yield raw | {"do": [one for step in raw["do"] for one in _steps(step, paths)]}
        else:
            yield raw


def _steps(step: Any, paths: dict[str, Any]) -> Iterator[Any]:
    """The step; one with `each_path` is as many as the server has paths."""
    if not isinstance(step, dict) or not step.get("each_path"):
        yield step
        return
    rest = {key: value for key, value in step.items() if key != "each_path"}
    for path in paths:
        yield rest | {"request": rest["request"] | {"path": path}}


def _ungrouped(raws: list[Any]) -> Iterator[Any]:
    """The cases with groups taken apart: each item of `each` is a case, the group's other keys fill it up."""
    for raw in raws:
        if not isinstance(raw, dict) or "each" not in raw:
            yield raw
            continue
        shared = {key: value for key, value in raw.items() if key != "each"}
        for item in raw["each"]:
            case = copy.deepcopy(shared) | {key: value for key, value in item.items() if key not in MERGED}
            if "request" in item:
                steps: list[dict[str, Any]] = [step for step in case.get("do", ()) if "request" in step]
                for step in steps[:1]:
                    step["request"] = step["request"] | item["request"]
            if "answer" in item:
                server = case.setdefault("server", {})
                if "by_path" in server:
                    server["by_path"] = {path: answer | item["answer"] for path, answer in server["by_path"].items()}
                else:
                    answers = server.setdefault("answers", [{}])
                    answers[0] = answers[0] | item["answer"]
            yield case


def case_of(raw: dict[str, Any], where: str) -> Case:
    """A case from its YAML, already merged with the file's defaults."""
    return Case(**raw, where=where)


def example_case(example: Example) -> Case:
    """The case that runs a wire-example."""
    data = dict(example.data)
    expect: dict[str, Any] = {"outcome": "response"} | data.get("expect", {})
    for key in ("segments", "records"):
        if key in data:
            expect[key] = data[key]
    known = {"request", "bytes", "segments", "records", "needs", "schemes", "routes", "open", "server", "expect"}
    unknown = data.keys() - known - {"title"}
    if unknown:
        raise CaseError(f"{example.where}: wire-example has unknown keys {sorted(unknown)}")
    raw: dict[str, Any] = {
        "of": example.requirement,
        "name": f"example-{example.number}",
        "title": data.get("title", f"The example of {example.requirement}"),
        "do": [{"request": data["request"], "warmup": 1, "repeat": EXAMPLE_REPEAT}],
        "expect": expect,
    }
    raw |= {key: data[key] for key in ("needs", "schemes", "routes", "open", "server") if key in data}
    faults = _faults(raw, _validator("case"), example.where)
    if faults:
        raise CaseError("\n".join(faults))
    case = case_of(raw, example.where)
    case.example = str(data["bytes"])
    return case


def coverage_faults(cases: list[Case], requirements: dict[str, Requirement]) -> list[str]:
    """Requirements without a case, and cases of requirements that do not exist."""
    covered = {case.of for case in cases}
    faults = [
        f"{case.where}: {case.id} is of {case.of}, which no text defines"
        for case in cases
        if case.of not in requirements
    ]
    for requirement in requirements.values():
        if requirement.id not in covered and not requirement.untestable:
            faults.append(f"{requirement.where}: {requirement.id} has no case and no line `untestable: reason`")
        if requirement.id in covered and requirement.untestable:
            faults.append(f"{requirement.where}: {requirement.id} says untestable but has a case")
    return faults
