"""The fuzzer makes the same scenarios from the same seed, finds a difference, and shrinks it."""

from __future__ import annotations

import random

import pytest
import yaml

from onewrite_conformance.contract.cases import _file_faults
from onewrite_conformance.fuzz.fuzzer import Finding, Fuzzer, as_yaml
from onewrite_conformance.fuzz.scenarios import scenario, smaller
from onewrite_conformance.run.adapters import reference

KINDS = ["bytes", "file", "form", "memory_file", "multipart", "stream", "text"]


def test_a_seed_makes_the_same_scenario_again() -> None:
    one, other = (scenario(random.Random("1/7"), KINDS, 7) for _ in range(2))
    assert one == other
    assert one != scenario(random.Random("2/7"), KINDS, 7)


def test_a_scenario_is_a_valid_case() -> None:
    for number in range(200):
        case = scenario(random.Random(f"t/{number}"), KINDS, number)
        assert _file_faults(yaml.safe_load(as_yaml(Finding("t", "text", case))), "scenario") == []


@pytest.mark.parametrize("number", range(20))
def test_shrinking_ends(number: int) -> None:
    case = scenario(random.Random(f"1/{number}"), KINDS, number)
    steps = 0
    while (cut := next(smaller(case), None)) is not None:
        case = cut
        steps += 1
        assert steps < 500
    assert len([step for step in case.do if "request" in step]) == 1


def findings(mutant: str | None, count: int) -> list[Finding]:
    with Fuzzer(reference(mutant), "onewrite", stock=reference()) as fuzzer:
        for seed in fuzzer.different(range(count), seed=3):
            finding = fuzzer.finding(seed, budget_s=20.0) if seed is not None else None
            if finding is not None:
                return [finding]
        return []


def test_the_reference_is_equal_to_its_stock() -> None:
    assert findings(None, 25) == []


@pytest.mark.parametrize(("mutant", "said"), [("truncation", "outcome"), ("chunk_split", "segments")])
def test_a_mutant_differs_from_its_stock(mutant: str, said: str) -> None:
    (found,) = findings(mutant, 120)
    assert said in found.text
    assert sum("request" in step for step in found.case.do) <= 2  # a large scenario was shrunk
