"""What the tests share: the contract, read once."""

from __future__ import annotations

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.requirements import Requirement


@pytest.fixture(scope="session")
def contract() -> tuple[list[Case], dict[str, Requirement]]:
    cases, requirements, faults = load_all()
    assert faults == []
    return cases, requirements
