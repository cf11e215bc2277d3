"""The whole contract, read and checked."""

from __future__ import annotations

from functools import lru_cache

import yaml

from onewrite_conformance.contract.cases import Case, CaseError, coverage_faults, example_case, load_cases
from onewrite_conformance.contract.footprint import footprint_faults
from onewrite_conformance.contract.places import SPEC, read_yaml
from onewrite_conformance.contract.requirements import Requirement, SpecError, read_spec

__all__ = ["load_all"]


@lru_cache(maxsize=1)
def load_all() -> tuple[list[Case], dict[str, Requirement], list[str]]:
    """(cases with the examples of the text, requirements, faults of the contract), read once by a process."""
    faults: list[str] = []
    requirements: dict[str, Requirement] = {}
    cases: list[Case] = []
    try:
        requirements = read_spec()
    except SpecError as error:
        faults += str(error).splitlines()
    try:
        cases = load_cases()
        for requirement in requirements.values():
            cases += [example_case(example) for example in requirement.examples]
    except CaseError as error:
        faults += str(error).splitlines()
    try:
        read_yaml((SPEC / "events.yaml").read_text())
    except yaml.YAMLError as error:
        faults.append(f"events.yaml: {error}")
    faults += footprint_faults()
    if not faults:
        faults += coverage_faults(cases, requirements)
    return cases, requirements, faults
