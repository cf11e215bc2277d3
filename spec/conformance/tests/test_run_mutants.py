"""The judge passes its own client and sees each thing that can be broken in it."""

from __future__ import annotations

import pytest

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.reference.mutants import MUTANTS, seen_by
from onewrite_conformance.run.adapters import reference
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Status

Contract = tuple[list[Case], dict[str, Requirement]]
ALL = sorted({path for name in MUTANTS for path in seen_by(name)})


def statuses(mutant: str | None, paths: list[str], contract: Contract) -> dict[str, str]:
    # A mutant may hang, which counts as seen: a short time limit is enough.
    timeout_s = 30.0 if mutant is None else 8.0
    judge = Judge(reference(mutant), *contract, only=paths, stock=False, drawn=True, timeout_s=timeout_s)
    results = list(judge.results())
    judge.finish(results)
    return {result.path: result.status for result in results}


@pytest.mark.parametrize("family", sorted({path.split("/")[0] for path in ALL}))
def test_the_whole_reference_passes(family: str, contract: Contract) -> None:
    paths = [path for path in ALL if path.startswith(f"{family}/")]
    assert statuses(None, paths, contract) == dict.fromkeys(paths, Status.OK)


@pytest.mark.drawn
@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_each_mutant_is_seen(mutant: str, contract: Contract) -> None:
    assert statuses(mutant, seen_by(mutant), contract) == dict.fromkeys(seen_by(mutant), Status.DEVIATES)
