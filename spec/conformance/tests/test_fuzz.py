"""Random scenarios are valid cases; http.client is equal to itself, and what is broken is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import joined_client
from onewrite_conformance.contract.cases import _file_faults, read_cases
from onewrite_conformance.driver import DriverSkipped
from onewrite_conformance.fuzz import fuzzer
from onewrite_conformance.fuzz.fuzzer import Fuzzer, Part, hunt
from onewrite_conformance.fuzz.scenarios import scenarios
from onewrite_conformance.report.scripts import keep
from onewrite_conformance.run.judge import Judge

KINDS = ("bytes", "file", "form", "memory_file", "multipart", "stream", "text")
CAN = frozenset({*(f"body:{kind}" for kind in KINDS), "concurrency", "informational", "proxy_forward", "proxy_connect"})


@settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(scenarios(CAN))
def test_a_scenario_is_a_valid_case(raw: dict[str, Any]) -> None:
    case = {"of": "SAME-1", "name": "random", "title": "A random scenario", **raw}
    assert _file_faults({"version": 2, "family": "SAME", "cases": [case]}, "scenario") == []


def hunted(broken: str, count: int) -> Part:
    found = Part("joined", "onewrite")
    with Judge(joined_client(broken), []) as judge:
        hunt(Fuzzer(judge, "onewrite"), count, 3, found)
    return found


def test_a_client_is_equal_to_itself() -> None:
    found = hunted("split", 25)
    assert (found.ran, found.differ) == (25, [])


def test_a_script_that_stock_never_ends_is_skipped() -> None:
    raw = {"open": {}, "server": {}, "schemes": ["http"], "routes": ["direct"], "do": [{"request": {"path": "/"}}]}
    with Judge(joined_client("hung stock"), []) as judge:
        both = Fuzzer(judge, "onewrite")
        judge.driver("stock", {}).timeout_s = 0.5
        with pytest.raises(DriverSkipped, match="stock: no reply to `request`"):
            both.compared(raw)


@pytest.mark.parametrize(("broken", "said"), [("error", "outcome: "), ("byte", "bytes: message 0")])
def test_what_is_broken_differs_and_is_kept(
    broken: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for limit in ("SHRINK_S", "SLOWER"):
        monkeypatch.setattr(fuzzer, limit, 1)
    ((raw, text),) = hunted(broken, 150).differ
    assert said in text
    with Judge(joined_client(), []) as judge:
        run = Fuzzer(judge, "onewrite").run(raw)
    file = keep(tmp_path, "joined", run, text)
    (case,) = read_cases([file])
    assert (case.do, case.server, case.ignore) == (run.case.do, run.case.server, ["boundary", "given_up"])
    with Judge(joined_client(broken), [case], clients=["onewrite"]) as judge:
        assert [one.problems != [] for one in judge.results()] == [True]
