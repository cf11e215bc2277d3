"""What the tests share: the contract, read once, and a client to judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.load import load_all
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import Adapter

JOINED = [sys.executable, str(Path(__file__).parent / "joined_client.py")]


def joined_client(broken: str = "") -> Adapter:
    """http.client, as `onewrite` with one write, and with one thing broken."""
    return Adapter("joined", [*JOINED, *([broken] if broken else [])], again=not broken)


@pytest.fixture(scope="session")
def contract() -> tuple[list[Case], dict[str, Requirement]]:
    cases, requirements, _ = load_all()  # test_contract.py has the faults
    return cases, requirements
