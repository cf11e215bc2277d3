"""What stands between a change and main: .ci/run, the workflows, and what keeps pins fresh."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MANIFESTS = {
    "pip": ["requirements*.txt", "pyproject.toml"],
    "npm": ["package.json"],
    "gomod": ["go.mod"],
    "maven": ["pom.xml"],
}


def tracked(*patterns: str) -> list[str]:
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return out.splitlines()


def test_ci_runs_lint_package_and_test() -> None:
    """It was deleted once as a script that nothing calls, and nothing was checked until somebody looked."""
    assert tracked("--stage", ".ci/run")[0].startswith("100755")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-3:] == ["make lint", "make package", "exec make test"], "the summary of the tests is the last thing it prints"


@pytest.mark.parametrize(
    ("status", "cases", "printed"),
    [
        (0, "<testcase name='a'/><testcase name='b'><skipped message='no Ruby 2'/></testcase>", "1 passed, 0 failed, 1 skipped"),
        (0, "<testcase name='a'><flakyFailure/></testcase>", "unsteady: test-x: a\n\n0 cases do not apply"),
        (1, "<testcase name='a'><failure/></testcase>", "failed: test-x: a\n"),
        (1, "<testcase name='a'/>", "failed: test-x: status 1 outside its tests"),
        (0, "", "failed: test-x: no test ran"),
    ],
)  # fmt: skip
def test_the_summary_of_a_run(status: int, cases: str, printed: str, tmp_path: Path) -> None:
    for folder in (".ci", "build/steps", "build/logs", "build/reports/test-x"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "summary", tmp_path / ".ci")
    (tmp_path / "build/steps/test-x").write_text(f"{status} 12 20\n")
    (tmp_path / "build/logs/test-x.log").touch()
    (tmp_path / "build/reports/test-x/x.xml").write_text(f"<testsuite>{cases}</testsuite>")
    for steps in (["test-x"], ["test-x", "test-missing"]):
        done = subprocess.run([tmp_path / ".ci" / "summary", *steps], capture_output=True, text=True, check=False)
        assert printed in done.stdout or "test-missing" in steps
        assert ("failed: test-missing: did not run" in done.stdout) == ("test-missing" in steps)
        failed = int(re.findall(r"^\d+ passed, (\d+) failed, \d+ skipped$", done.stdout.splitlines()[-1])[0])
        assert (done.returncode != 0) == (failed > 0) == ("failed:" in done.stdout)


@pytest.mark.parametrize("ecosystem", MANIFESTS)
def test_dependabot_sees_every_manifest(ecosystem: str) -> None:
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())
    seen = {folder for one in config["updates"] if one["package-ecosystem"] == ecosystem for folder in one["directories"]}
    files = tracked(*(f"*/{pattern}" for pattern in MANIFESTS[ecosystem]))
    found = {f"/{Path(file).parent}" for file in files}
    if ecosystem == "maven":  # a parent names its modules
        found = {folder for folder in found if not any(folder.startswith(f"{other}/") for other in found)}
    assert found - seen == set() and seen - found == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_run_on_main_is_never_cancelled(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    events = workflow[True]  # YAML reads the key `on` as true
    if "push" in events and "concurrency" in workflow:
        assert workflow["concurrency"]["cancel-in-progress"] in (False, "${{ github.event_name == 'pull_request' }}")


def test_a_release_waits_for_the_workflow_that_runs_the_tests() -> None:
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert re.findall(r"--workflow (\S+)", release) == ["ci.yml"]
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert {"test", "lint", "package"} <= set(ci["jobs"]["make"]["strategy"]["matrix"]["target"])


def test_no_package_is_built_twice() -> None:
    """A release page takes one file of a name, and PyPI keeps the first."""
    built = [
        package
        for part in ("python", "spec", "cli")
        for package in re.findall(r'-m build .*?--outdir "\$\(PACKAGES\)" (\S+)', (ROOT / part / "Makefile").read_text())
    ]
    assert len(built) == 3 and not any("lab" in package for package in built), built
