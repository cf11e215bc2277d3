"""Random scenarios are valid cases; the reference is equal to its stock, and a mutant is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from onewrite_conformance.contract.cases import _file_faults
from onewrite_conformance.fuzz import fuzzer
from onewrite_conformance.fuzz.fuzzer import Fuzzer, Part, hunt
from onewrite_conformance.fuzz.scenarios import scenarios
from onewrite_conformance.run.adapters import reference
from onewrite_conformance.run.judge import Judge

KINDS = ("bytes", "file", "form", "memory_file", "multipart", "stream", "text")


@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(scenarios(KINDS))
def test_a_scenario_is_a_valid_case(raw: dict[str, Any]) -> None:
    case = {"of": "SAME-1", "name": "random", "title": "A random scenario", **raw}
    assert _file_faults({"version": 1, "family": "SAME", "cases": [case]}, "scenario") == []


def hunted(mutant: str | None, count: int) -> Part:
    found = Part("reference", "onewrite")
    with Judge(reference(mutant), [], {}) as judge:
        hunt(Fuzzer(judge, "onewrite"), count, 3, found)
    return found


def test_the_reference_is_equal_to_its_stock() -> None:
    found = hunted(None, 25)
    assert (found.ran, found.texts) == (25, [])


@pytest.mark.parametrize(("mutant", "said"), [("error_class", "outcome"), ("byte_changed", "bytes")])
def test_a_mutant_differs_from_its_stock(mutant: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("SHRINK_S", "SLOWER", "REPLAYS", "STOCK_MORE"):
        monkeypatch.setattr(fuzzer, limit, 1)
    found = hunted(mutant, 150)
    assert said in found.texts[0]
    assert len(found.cases) == 1
