"""The GitHub action's own steps, run by bash as a runner does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import CLIENT, clean_environment

ACTION = Path(__file__).resolve().parents[2] / ".github" / "actions" / "check" / "action.yml"


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "inputs", "status", "job_fails"),
    [
        ("none", {"options": "--rule stall=off"}, 0, False),
        ("split,nagle", {}, 1, True),
        ("split", {"options": "--rule stall=off\n--requests 5\n"}, 0, False),
        ("split", {"options": "--strict\n--rule stall=off\n"}, 1, True),
        ("fail", {}, 2, True),
        ("fail", {"inconclusive": "pass"}, 2, False),
        ("split", {"options": "--strict", "json": "report/check.json"}, 1, True),
    ],
)
def test_the_job_fails_when_it_should(faults: str, inputs: dict[str, str], status: int, job_fails: bool, tmp_path: Path) -> None:
    step = action()["runs"]["steps"][1]
    tool = tmp_path / "onewrite-cli" / "bin" / "onewrite"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onewrite_cli "$@"\n')
    tool.chmod(0o755)
    given = {name: value.get("default", "") for name, value in action()["inputs"].items()}
    given |= inputs | {"command": f"{' '.join(CLIENT)} {faults} {{url}}"}
    environment = clean_environment() | {
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    for name, expression in step["env"].items():
        environment[name] = given[expression.removeprefix("${{ inputs.").removesuffix(" }}")]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) is job_fails, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == f"exit-status={status}\n"
    assert "OW101" in done.stdout
    if "split" in faults:
        assert f"::{'error' if job_fails and faults == 'split' else 'warning'} title=OW101 " in done.stdout
    if "json" in inputs:
        assert '"rule": "OW101"' in (tmp_path / "report" / "check.json").read_text()


def test_what_is_installed_is_there() -> None:
    script = action()["runs"]["steps"][0]["run"]
    for folder in ("spec/lab", "cli"):
        assert f"$GITHUB_ACTION_PATH/../../../{folder}" in script
        assert (ACTION.parent / ".." / ".." / ".." / folder / "pyproject.toml").resolve().is_file()
    assert os.access(ACTION, os.R_OK)
