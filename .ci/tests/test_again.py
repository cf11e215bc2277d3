"""Failed tests are judged again by themselves: the whole of `.ci/test`, over a suite of toy tests."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Run = Callable[..., tuple[int, str, list[dict[str, str]]]]
CI = Path(__file__).resolve().parents[1]
MAKEFILE = f"""
include {CI}/part.mk
REPORT = $(ONEWRITE_REPORTS)/toy-$@.xml
PYTEST := {sys.executable} -m pytest -q -p no:cacheprovider
CRASH := sh -c '"$$@"; status=$$?; [ -f crash ] && exit 3; exit $$status' sh
test: ; @set -- .; $(SUITE) $(CRASH) $(PYTEST) $(PYTEST_SUITE)
"""
#: A letter of `outcomes` for each run: "p" passes, "f" fails, "s" is skipped. The last one stays.
TEST = """
def test_{name}():
    import pathlib, pytest
    runs = pathlib.Path("{name}.runs")
    number = len(runs.read_text()) if runs.exists() else 0
    runs.write_text("." * (number + 1))
    outcome = "{outcomes}"[min(number, len("{outcomes}") - 1)]
    if outcome == "s":
        pytest.skip("not now")
    assert outcome == "p", "run number " + str(number)
"""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """`.ci/test`, with nothing to set up and one step: the toy tests."""
    monkeypatch.syspath_prepend(str(CI))
    loader = importlib.machinery.SourceFileLoader("runner", str(CI / "test"))
    spec = importlib.util.spec_from_loader("runner", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(module.plans, "setup", list)
    step = module.Step("toy", "toy tests", ("make", "-s", "-C", str(tmp_path), "test"))
    monkeypatch.setattr(module.plans, "test", lambda: [step])
    monkeypatch.setenv("ONEWRITE_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("JUDGED", "")
    for name in ("TEST", "SEED", "STRICT", "MAKEFLAGS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return module


@pytest.fixture
def run(runner: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs toy tests with these outcomes. Returns the exit status, the summary, and the unsteady tests kept."""

    def with_outcomes(**tests: str) -> tuple[int, str, list[dict[str, str]]]:
        text = "".join(TEST.format(name=name, outcomes=outcomes) for name, outcomes in tests.items())
        (tmp_path / "test_toy.py").write_text(text)
        status = runner.main("test")
        kept = (tmp_path / "reports" / "unsteady.jsonl").read_text().splitlines()
        return status, capsys.readouterr().out, [json.loads(line) for line in kept]

    return with_outcomes


def test_that_fails_once_is_unsteady(run: Run) -> None:
    status, said, kept = run(steady="p", once="fp")
    assert status == 0, said
    assert said.splitlines()[-1] == "1 passed, 0 failed, 0 skipped, 1 unsteady"
    named = said.partition("unsteady: toy-test: test_toy.py::test_once\n")[2]
    assert "run number 0" in named.splitlines()[0]
    (one,) = kept
    assert one["test"] == "test_toy.py::test_once"
    assert "run number 0" in one["first_failure"]


@pytest.mark.parametrize("outcomes", ["f", "fpf", "fppf", "fs"])
def test_that_does_not_pass_three_times_fails(run: Run, outcomes: str) -> None:
    status, said, kept = run(steady="p", bad=outcomes)
    assert status == 1, said
    assert "failed: toy-test: test_toy.py::test_bad" in said
    assert said.splitlines()[-1] == "1 passed, 1 failed, 0 skipped, 0 unsteady"
    assert kept == []


def test_passes_three_times_and_no_more(run: Run, tmp_path: Path) -> None:
    run(once="fp", steady="p")
    assert len((tmp_path / "once.runs").read_text()) == 4
    assert len((tmp_path / "steady.runs").read_text()) == 1


@pytest.mark.parametrize(("count", "red"), [(3, 0), (4, 1)])
def test_more_than_three_unsteady_tests_are_red(run: Run, count: int, red: int) -> None:
    status, said, kept = run(**{f"once_{number}": "fp" for number in range(count)})
    assert status == red, said
    assert len(kept) == count
    assert ("red: 4 unsteady tests, 3 are tolerated" in said) == bool(red)


def test_strict_tolerates_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRICT", "1")
    status, said, _ = run(once="fp")
    assert status == 1
    assert "red: 1 unsteady tests, 0 are tolerated" in said


def test_a_failure_outside_the_tests_is_red(run: Run, tmp_path: Path) -> None:
    (tmp_path / "crash").touch()
    status, said, _ = run(once="fp")
    assert status == 1
    assert "failed: toy: outside its tests" in said


def test_a_suite_without_a_report_is_red(run: Run, tmp_path: Path) -> None:
    makefile = (tmp_path / "Makefile").read_text()
    (tmp_path / "Makefile").write_text(makefile.replace("-m pytest", "-m this"))
    status, said, _ = run(steady="p")
    assert status == 1
    assert "failed: toy: no report, its tests did not run" in said


def test_many_failures_are_not_judged_again(run: Run, tmp_path: Path) -> None:
    status, said, _ = run(**{f"bad_{number}": "fp" for number in range(11)})
    assert status == 1
    assert "11 tests failed: too many to judge them again" in said
    assert len((tmp_path / "bad_0.runs").read_text()) == 1


def test_each_runs_every_file_alone(
    run: Run,
    runner: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "test_needs.py").write_text("import sys\ndef test_needs(): assert 'test_toy' in sys.modules\n")
    (tmp_path / "test_skipped.py").write_text("import pytest\ndef test_skipped(): pytest.skip('not here')\n")
    status, said, _ = run(steady="p")
    assert status == 0, said
    assert runner.main("each") == 1
    said = capsys.readouterr().out
    assert "failed alone: toy-test: test_needs.py" in said
    assert "1 files and classes failed alone" in said


def test_what_the_judge_tried_again_counts_alike(runner: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "judge.xml"
    again = '<flakyFailure message="two segments"/>'
    report.write_text(f'<testsuite><testcase classname="judge.node" name="a">{again}</testcase></testsuite>')
    (case,) = runner.again.read(report)
    assert (case.kind, case.id, case.text) == ("unsteady", "judge.node#a", "two segments")
