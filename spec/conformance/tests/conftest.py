"""What the tests share: the contract, read once."""

from __future__ import annotations

import pytest

from onewrite_conformance.cases import Case, load_cases
from onewrite_conformance.cli import load_all
from onewrite_conformance.mutants import OWN_CASES
from onewrite_conformance.requirements import Requirement


@pytest.fixture(scope="session")
def contract() -> tuple[list[Case], dict[str, Requirement]]:
    cases, requirements, faults = load_all()
    assert faults == []
    return cases + load_cases(OWN_CASES), requirements
