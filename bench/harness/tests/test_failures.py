"""Failures around a run: each is reported in one line, and the other results are kept."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import BENCH, bench
from onewrite_lab import witness

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers, repeat
from onewrite_bench.run import scenarios
from onewrite_bench.run.execute import execute

CLIENTS = """
      - {label: control, kind: socket, role: control, socket: {nagle: true, writes: 2}}
      - {label: adapter, kind: socket, role: adapter, socket: {writes: 1}}
"""


def written(path: Path, name: str, rounds: int = 1, requests: int = 4, at: str = "haproxy/http-buffer-request") -> Path:
    """A file with a scenario of one group."""
    file = path / f"{name}.yaml"
    file.write_text(
        f"""
name: {name}
title: Small
story: For tests.
kind: post
topology: {{haproxy: true}}
parameters: {{rounds: {rounds}, requests: {requests}}}
targets:
  - {{name: buffered, at: {at}, stalls: true}}
groups:
  - name: raw
    language: raw
    targets: [buffered]
    clients:{CLIENTS}"""
    )
    return file


def test_ctrl_c_keeps_the_earlier_results(tmp_path: Path) -> None:
    quick, endless = written(tmp_path, "quick"), written(tmp_path, "endless", rounds=10_000)
    out = tmp_path / "out"
    run = subprocess.Popen(
        [*BENCH, "run", str(quick), str(endless), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not (out / "quick.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        # The second scenario runs when both its drivers do: bench, origin, HAProxy and its wrapper, two drivers.
        while len(witness.process_tree(run.pid)) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 130
    assert "Traceback" not in errors
    assert not (out / "endless.json").exists()
    assert "## quick: Small" in (out / "RESULTS.md").read_text()


def test_one_scenario_that_cannot_run_does_not_stop_the_next(tmp_path: Path) -> None:
    wrong = written(tmp_path, "wrong", at="haproxy/no-such-frontend")
    right = written(tmp_path, "right")
    summary = tmp_path / "summary.md"
    done = bench("run", str(wrong), str(right), "--out", str(tmp_path / "out"), GITHUB_STEP_SUMMARY=str(summary))
    assert "wrong: could not run: the topology has no haproxy/no-such-frontend; it has " in done.stderr
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "right.json").exists()
    assert summary.read_text().count("## right: Small") == 1


@pytest.mark.timed
def test_a_driver_that_dies_in_the_middle_keeps_the_others_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver answers hello and open, then exits at the first load."""
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os, sys, json\n"
        "from onewrite_bench.engines import raw_driver\n"
        "class Dying:\n"
        "    def __init__(self, options): pass\n"
        "    def load(self, command): sys.stderr.write('Killed\\n'); os._exit(9)\n"
        "raw_driver.serve(json.loads(sys.stdin.readline()), Dying, {'name': 'x', 'version': '1'}, 'x')\n"
    )
    real = drivers.command
    command = [sys.executable, str(dying)]
    monkeypatch.setattr(drivers, "command", lambda name, *more: command if name == "ruby" else real(name))
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    file = written(tmp_path, "dying")
    clients = CLIENTS.replace("kind: socket, role: adapter, socket: {writes: 1}", "kind: stock, role: adapter")
    file.write_text(file.read_text() + f"  - name: ruby\n    language: ruby\n    clients:{clients}")
    done = execute(scenario.load(str(file)), Console(quiet=True), "test")
    states = {verdict.group: verdict.state for verdict in done.verdicts}
    assert states == {"raw": "clean", "ruby": "not run"}
    assert done.exit_status == 2
    assert "exit status 9" in done.verdicts[1].text
    assert "\n" not in done.verdicts[1].text


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    quick = written(tmp_path, "quick")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "RESULTS.md").symlink_to("/dev/full")
    done = bench("run", str(quick), "--out", str(tmp_path / "out"))
    assert done.returncode == 3
    assert "quick: the result could not be kept: [Errno 28] No space left on device; it stands above" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "quick.json").exists()


@pytest.mark.timed
def test_the_gate_has_an_exit_status_for_each_outcome(tmp_path: Path) -> None:
    right = written(tmp_path, "right")
    wrong = written(tmp_path, "wrong")
    wrong.write_text(wrong.read_text().replace("socket: {writes: 1}", "socket: {nagle: true, writes: 2}"))
    silent = written(tmp_path, "silent", at="haproxy/default")
    out = str(tmp_path / "out")
    assert bench("gate", str(wrong), str(right), "--out", out).returncode == 1
    done = bench("gate", str(silent), "--out", out)
    assert done.returncode == 2
    # 0 % of them, unless a busy machine made one late.
    assert re.search(r"the control stalled in \d+% of its requests only \(measured 3 times", done.stdout), done.stdout
    assert "gate: exit status 2: inconclusive: the machine was too noisy" in done.stdout
    clean = bench("gate", str(right), "--out", out)
    if "inconclusive" not in clean.stdout:  # a busy machine may make it inconclusive, never failing
        assert clean.returncode == 0
        assert "1 of 1 adapters clean" in (tmp_path / "out" / "RESULTS.md").read_text()
    refused = bench("gate", "wan", "--out", out)
    assert refused.returncode == 3
    assert refused.stderr == "onewrite bench: wan has no verdict: make bench SCENARIO=wan\n"


@pytest.mark.parametrize(("statuses", "expected"), [([], 3), ([0, 0], 0), ([0, 2], 2), ([2, 3], 3), ([3, 1, 0], 1)])
def test_the_worst_scenario_decides(statuses: list[int], expected: int) -> None:
    assert scenarios.worst(statuses) == expected
