"""Which requirement is to blame for an expectation that was not met (spec/expectations.yaml)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.places import SPEC
from onewrite_conformance.contract.requirements import Requirement

__all__ = ["blamed", "expectation_faults"]

ANY = "any"


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load((SPEC / "expectations.yaml").read_text())
    return table


def blamed(case: Case, expectation: str) -> list[str]:
    """The requirements of `case` that are about this expectation, else the one that owns it."""
    listed: dict[str, list[str]] = _table()["about"]
    about = [name for name in case.covers if any(_within(expectation, one) for one in listed.get(name, ()))]
    about = about or [name for name in case.covers if name not in listed]
    if about:
        return about
    owner = _owner(expectation)
    return [owner] if owner not in (None, ANY) else case.covers


def _owner(expectation: str) -> str | None:
    """The owner of the longest name that the expectation is within."""
    owners: dict[str, str] = _table()["owner"]
    names = sorted((name for name in owners if _within(expectation, name)), key=len)
    return owners[names[-1]] if names else None


def _within(expectation: str, name: str) -> bool:
    return expectation == name or expectation.startswith(f"{name}.")


def expectation_faults(cases: list[Case], requirements: dict[str, Requirement]) -> list[str]:
    """Requirements that do not exist, and expectations of cases that no requirement owns."""
    named = {*_table()["about"], *_table()["owner"].values()} - {ANY}
    faults = [f"expectations.yaml: {name} is no requirement" for name in sorted(named - requirements.keys())]
    for case in cases:
        faults += [
            f"{case.where}: {case.id} expects {expectation}, which no requirement owns: see expectations.yaml"
            for expectation in dict.fromkeys(_expected(case))
            if _owner(expectation) is None
        ]
    return faults


def _expected(case: Case) -> Iterator[str]:
    """The expectations of a case by name: `segments`, `timing.cause`."""
    for expect in case.expectations():
        for key, value in expect.items():
            if key in ("stock_equal", "timing", "wire", "error"):
                yield from (f"{key}.{name}" for name in value)
            else:
                yield key
