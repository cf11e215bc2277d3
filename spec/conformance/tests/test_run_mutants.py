"""The judge passes its own client and sees each thing that can be broken in it."""

from __future__ import annotations

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.reference.mutants import MUTANTS
from onewrite_conformance.run.mutants import SEEN_BY, killers
from onewrite_conformance.run.result import Status

Contract = tuple[list[Case], dict[str, Requirement]]


def test_every_mutant_has_a_case() -> None:
    assert set(SEEN_BY) == set(MUTANTS)


ALL = sorted({path for paths in SEEN_BY.values() for path in paths})


@pytest.mark.parametrize("family", sorted({path.split("/")[0] for path in ALL}))
def test_the_whole_reference_passes(family: str, contract: Contract) -> None:
    paths = [path for path in ALL if path.startswith(f"{family}/")]
    results = killers(None, paths, *contract)
    assert sorted(result.path for result in results) == paths
    assert [result for result in results if result.status != Status.OK] == []


@pytest.mark.drawn
@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_each_mutant_is_seen(mutant: str, contract: Contract) -> None:
    results = killers(mutant, SEEN_BY[mutant], *contract)
    assert {result.path: result.status for result in results} == dict.fromkeys(SEEN_BY[mutant], Status.DEVIATES)
