"""What the tests share: the contract, read once."""

from __future__ import annotations

import pytest

from onewrite_conformance.contract.cases import Case, load_cases
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.mutants import OWN_CASES


@pytest.fixture(scope="session")
def contract() -> tuple[list[Case], dict[str, Requirement]]:
    cases, requirements, faults = load_all()
    assert faults == []
    return cases + load_cases(OWN_CASES), requirements
