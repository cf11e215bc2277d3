"""The demo's command: its exit statuses, and that nothing is left behind. The raw driver stands in for a language."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import BENCH, bench

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.failures import BenchError
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Scenario
from onewrite_bench.verdict.results import Run


def small(tmp_path: Path, adapter: str) -> Scenario:
    """A scenario with one group whose adapter is the raw client with these options."""
    path = tmp_path / "small.yaml"
    path.write_text(
        f"""
name: small
title: Small
story: For tests.
kind: post
topology: {{haproxy: true}}
parameters: {{rounds: 2, requests: 10}}
targets:
  - {{name: default, at: haproxy/default, stalls: false}}
  - {{name: http-buffer-request, at: haproxy/http-buffer-request, stalls: true}}
groups:
  - name: raw
    language: raw
    targets: [default, http-buffer-request]
    clients:
      - {{label: control, kind: socket, role: control, socket: {{nagle: true, writes: 2}}}}
      - {{label: adapter, kind: socket, role: adapter, socket: {adapter}}}
"""
    )
    return scenario.load(str(path))


def run(plan: Scenario) -> Run:
    return execute(plan, Console(quiet=True), "test")


@pytest.mark.timed
def test_one_write_with_nodelay_is_clean(tmp_path: Path) -> None:
    done = run(small(tmp_path, "{}"))
    assert [verdict.state for verdict in done.verdicts] == ["clean"]
    assert done.exit_status == 0
    adapter = [cell for cell in done.cells if cell.role == "adapter"]
    assert [cell.segments_median for cell in adapter] == [1.0, 1.0]
    assert all((cell.bare_connections, cell.connections) == (0, 1) for cell in adapter)
    control = next(cell for cell in done.cells if cell.role == "control" and cell.stalls)
    assert control.segments_median == 2.0
    assert control.bare_connections == 1


@pytest.mark.timed
@pytest.mark.parametrize(
    ("adapter", "complaint"),
    [
        ("{nagle: true, writes: 2}", "were late"),
        ("{writes: 2}", "2.00 segments"),
        ("{nagle: true}", "TCP_NODELAY on 0 of 1"),
    ],
)
def test_each_defect_is_seen(tmp_path: Path, adapter: str, complaint: str) -> None:
    done = run(small(tmp_path, adapter))
    assert done.exit_status == 1
    assert complaint in done.verdicts[0].text


def test_a_run_survives_json(tmp_path: Path) -> None:
    done = run(small(tmp_path, "{}"))
    again = Run.from_json(json.loads(done.text()))
    assert again == done


def test_a_record_names_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "records.yaml"
    path.write_text(
        """
name: records
title: Records
story: For tests.
kind: records
topology: {}
parameters: {requests: 3}
targets: [{name: slow, at: origin/plain, path: "/slow?ms=45", stalls: false}]
groups: [{language: python, clients: [{kind: onewrite, role: shown}]}]
"""
    )
    done = run(scenario.load(str(path)))
    if done.notes:
        pytest.skip(done.notes[0])
    ((where, client, wait, *_, causes),) = done.records
    assert (where, client, causes) == ("slow", "onewrite", "`server` 3")
    assert float(wait.split(" ")[0]) >= 45
    assert done.exit_status == 0


def left_behind(marker: str) -> list[int]:
    """Processes whose environment carries the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(how: signal.Signals, tmp_path: Path) -> None:
    marker = f"BENCH_TEST_MARK={tmp_path}"
    folders = tmp_path / "tmp"
    folders.mkdir()
    name, _, value = marker.partition("=")
    bench = subprocess.Popen(
        [*BENCH, "demo", "--languages", "python", "--json", str(tmp_path / "out.json")],
        env={**os.environ, name: value, "TMPDIR": str(folders)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        deadline = time.monotonic() + 120
        while len(left_behind(marker)) < 5 and time.monotonic() < deadline:  # bench, origin, proxy, HAProxy, a driver
            time.sleep(0.05)
        assert len(left_behind(marker)) >= 5
        bench.send_signal(how)
        _, errors = bench.communicate(timeout=60)
    finally:
        bench.kill()
        bench.communicate()
    deadline = time.monotonic() + 60
    while (left := left_behind(marker)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    if how is not signal.SIGKILL:  # which leaves a temporary folder
        assert list(folders.iterdir()) == []
        assert bench.returncode == 130
        assert "Traceback" not in errors


def test_a_missing_haproxy_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr("shutil.which", lambda name, **more: None if name == "haproxy" else which(name, **more))
    with pytest.raises(BenchError, match="haproxy is not installed: sudo apt-get install haproxy"):
        run(small(tmp_path, "{}"))


def test_an_unknown_language_is_refused() -> None:
    done = bench("demo", "--languages", "cobol")
    assert done.returncode == 3
    assert done.stderr == "onewrite bench: no language 'cobol'; there are java, node, python, ruby\n"


def test_all_scenarios_are_valid() -> None:
    for name in scenario.names():
        assert scenario.load(name).name == name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("kind: post", "kind: nonsense"), "kind: 'nonsense' is not one of"),
        (("rounds: 2", "roundz: 2"), "parameters: Additional properties are not allowed .'roundz' was unexpected"),
        (("role: adapter", "role: good"), "'good' is not one of"),
        (("role: adapter", "role: control"), "a group has two clients of role control"),
        (("label: adapter", "label: control"), "a group has two clients with one label"),
        (("targets: [default,", "targets: [nowhere,"), "a group names the unknown target nowhere"),
    ],
)
def test_a_bad_scenario_names_the_field(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    small(tmp_path, "{}")
    path = tmp_path / "small.yaml"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(BenchError, match=words):
        scenario.load(str(path))


def test_an_unknown_scenario_names_the_others() -> None:
    with pytest.raises(BenchError, match="there is no scenario 'no-such'; there are: demo"):
        scenario.load("no-such")
