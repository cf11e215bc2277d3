"""The gate sees a split in each way of writing alone: a mutant splits what goes to one path and no other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import repeat
from onewrite_bench.paths import REPOSITORY
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client, Group
from onewrite_bench.verdict.judge import judge

MUTANTS = Path(__file__).with_name("mutants")
START = {
    "python": {"PYTHONPATH": str(MUTANTS)},  # sitecustomize.py
    "ruby": {"RUBYOPT": f"-r{MUTANTS / 'split.rb'}"},
    "node": {"NODE_OPTIONS": f"--require={MUTANTS / 'split.cjs'}"},
}
#: Which path each mutant splits, and the target of the scenario that has it.
SPLIT = {"/form": "form", "/stream": "streamed body", "/https": "https", "/bytes": "bytes"}
BY_PROXY = {"/forward": "forward proxy", "/connect": "CONNECT"}
SEEN_AT = {"python": SPLIT | BY_PROXY, "ruby": SPLIT | BY_PROXY, "node": SPLIT}
RED = ("splits", "stalls")
#: A driver in Java lives for some seconds: the optimizing compiler would cost more than it gains.
QUICK = "-XX:TieredStopAtLevel=1"

DRIVER = REPOSITORY / "java" / "driver"
JAVA: list[dict[str, Any]] = yaml.safe_load((DRIVER / "mutants.yaml").read_text())


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)


def adapter_in(language: str, label: str | None = None) -> tuple[Group, Client]:
    """The first group of the gate's scenario with this adapter (None: any), and the adapter."""
    groups = scenario.load("writers").groups
    clients = ((group, client) for group in groups if group.language == language for client in group.clients)
    return next(found for found in clients if found[1].role == "adapter" and label in (None, found[1].label))


def states(
    group: Group, adapter: Client, mutants: Mapping[str, dict[str, str]], targets: set[str]
) -> dict[str, dict[str, str]]:
    """What the gate says of each mutant at each target. `mutants`: by name, the environment that makes it."""
    controls = tuple(client for client in group.clients if client.role in ("control", "good"))
    broken = tuple(replace(adapter, label=name, env={**adapter.env, **env}) for name, env in mutants.items())
    clients = tuple(replace(client, env={**client.env, "ONEWRITE_JAVA_OPTS": QUICK}) for client in controls + broken)
    kept = tuple(target for target in group.targets if target.name in targets)
    plan = scenario.load("writers")
    parameters = {**plan.parameters, "rounds": 2, "requests": 10, "warmup_s": 0}
    plan = replace(plan, groups=(replace(group, clients=clients, targets=kept),), parameters=parameters)
    cells = execute(plan, Console(quiet=True), "test").cells
    said: dict[str, dict[str, str]] = {name: {} for name in mutants}
    for name in mutants:
        for target in targets:
            beside = [
                cell for cell in cells if cell.target == target and (cell.role != "adapter" or cell.client == name)
            ]
            (verdict,) = judge(beside)
            said[name][target] = verdict.state
    return said


@pytest.mark.parametrize("language", START)
def test_a_split_of_one_writer_is_seen_where_it_is_and_nowhere_else(language: str) -> None:
    seen_at = SEEN_AT[language]
    targets = set(seen_at.values())
    mutants = {mutant: {**START[language], "BENCH_SPLIT": mutant} for mutant in seen_at}
    said = states(*adapter_in(language), mutants, targets)
    if all("not run" in states.values() for states in said.values()):
        pytest.skip(f"the {language} driver is not set up")
    for mutant, red in seen_at.items():
        assert said[mutant][red] in RED, (mutant, said[mutant])
        for green in targets - {red}:
            assert said[mutant][green] not in ("splits", "nodelay off", "not run"), (mutant, said[mutant])


@pytest.mark.parametrize("client", dict.fromkeys(mutant["client"] for mutant in JAVA))
def test_a_writer_of_java_that_splits_is_seen(client: str, tmp_path: Path) -> None:
    if not (DRIVER / "target" / "classpath").exists():
        pytest.skip("the java driver is not set up")
    mutants = [mutant for mutant in JAVA if mutant["client"] == client]
    start = {
        mutant["name"]: {"JAVA": str(MUTANTS / "java"), "BENCH_MUTANT": str(compiled(mutant, tmp_path / str(number)))}
        for number, mutant in enumerate(mutants)
    }
    targets = {target for mutant in mutants for target in (*mutant["red"], *mutant["green"])}
    said = states(*adapter_in("java", client), start, targets)
    for mutant in mutants:
        of = said[mutant["name"]]
        assert all(of[target] in RED for target in mutant["red"]), (mutant["name"], of)
        assert not any(of[target] in ("splits", "nodelay off", "not run") for target in mutant["green"]), (
            mutant["name"],
            of,
        )


def compiled(mutant: dict[str, Any], folder: Path) -> Path:
    """The classes of the changed source."""
    source = REPOSITORY / "java" / mutant["source"]
    whole = source.read_text()
    assert whole.count(mutant["from"]) == 1, f"{DRIVER}/mutants.yaml does not fit {source} any more"
    folder.mkdir()
    changed = folder / source.name
    changed.write_text(whole.replace(mutant["from"], mutant["to"]))
    on = (DRIVER / "target" / "classpath").read_text()
    quick = [f"-J{QUICK}", "-J-XX:+UseSerialGC"]
    javac = ["javac", *quick, "-nowarn", "-proc:none", "--release", "17", "-cp", on, "-d", str(folder), str(changed)]
    subprocess.run(javac, check=True, timeout=120)
    return folder


def test_the_gate_has_every_writer() -> None:
    plan = scenario.load("writers")
    assert "gate" in plan.parameters
    for language in ("python", "ruby", "node", "java"):
        judged = {
            target.name
            for group in plan.groups
            for target in group.targets
            if group.language == language and any(client.role == "adapter" for client in group.clients)
        }
        assert {"bytes", "form", "streamed body", "https", "forward proxy", "CONNECT"} <= judged, language
    assert os.access(MUTANTS / "split.rb", os.R_OK)
