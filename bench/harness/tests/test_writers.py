"""The gate sees a split in each way of writing alone: a mutant splits what goes to one path and no other."""

from __future__ import annotations

import os
import subprocess
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
from onewrite_bench.scenario import Client, Group, Scenario

MUTANTS = Path(__file__).with_name("mutants")
DRIVER = REPOSITORY / "java" / "driver"
JAVA: list[dict[str, Any]] = yaml.safe_load((DRIVER / "mutants.yaml").read_text())
START = {
    "python": {"PYTHONPATH": str(MUTANTS)},  # sitecustomize.py
    "ruby": {"RUBYOPT": f"-r{MUTANTS / 'split.rb'}"},
    "node": {"NODE_OPTIONS": f"--require={MUTANTS / 'split.cjs'}"},
}


def states(language: str, mutant: str, targets: list[str]) -> dict[str, str]:
    """What the gate's scenario says of the language's own classes at each target, the client being broken for one."""
    plan = scenario.load("writers")
    group = next(group for group in plan.groups if group.language == language and set(targets) <= names(group.targets))
    adapter = next(client for client in group.clients if client.role == "adapter")
    return said_of(plan, group, adapter, {**START[language], "BENCH_SPLIT": mutant}, targets)


def said_of(plan: Scenario, group: Group, adapter: Client, env: dict[str, str], targets: list[str]) -> dict[str, str]:
    """What the gate's scenario says of a client with this environment at each target."""
    rest = [client for client in group.clients if client.role in ("control", "good")]
    clients: tuple[Client, ...] = (*rest, replace(adapter, env={**adapter.env, **env}))
    groups = tuple(
        replace(group, name=target.name, clients=clients, targets=(target,))
        for target in group.targets
        if target.name in targets
    )
    parameters = {**plan.parameters, "rounds": 2, "requests": 10, "warmup_s": 0}
    done = execute(replace(plan, groups=groups, parameters=parameters), Console(quiet=True), "test")
    return {verdict.subject: verdict.state for verdict in done.verdicts}


def names(targets: tuple[scenario.Target, ...]) -> set[str]:
    return {target.name for target in targets}


@pytest.mark.parametrize("language", START)
@pytest.mark.parametrize(
    ("mutant", "seen_at"), [("/form", "form"), ("/stream", "streamed body"), ("/https", "https"), ("/bytes", "bytes")]
)
def test_a_split_of_one_writer_is_seen_where_it_is(
    language: str, mutant: str, seen_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    other = "form" if seen_at == "bytes" else "bytes"
    said = states(language, mutant, [seen_at, other])
    if "not run" in said.values():
        pytest.skip(f"the {language} driver is not set up")
    assert said[seen_at] in ("splits", "stalls"), said
    assert said[other] not in ("splits", "nodelay off"), said


@pytest.mark.parametrize("language", ["python", "ruby"])
@pytest.mark.parametrize(("mutant", "seen_at"), [("/forward", "forward proxy"), ("/connect", "CONNECT")])
def test_a_split_by_way_of_a_proxy_is_seen(
    language: str, mutant: str, seen_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    said = states(language, mutant, [seen_at, "bytes"])
    if "not run" in said.values():
        pytest.skip(f"the {language} driver is not set up")
    assert said[seen_at] in ("splits", "stalls"), said
    assert said["bytes"] not in ("splits", "nodelay off"), said


@pytest.mark.parametrize("mutant", JAVA, ids=[mutant["name"] for mutant in JAVA])
def test_a_writer_of_java_that_splits_is_seen(
    mutant: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    if not (DRIVER / "target" / "classpath").exists():
        pytest.skip("the java driver is not set up")
    source = REPOSITORY / "java" / mutant["source"]
    whole = source.read_text()
    assert whole.count(mutant["from"]) == 1, f"{DRIVER}/mutants.yaml does not fit {source} any more"
    changed = tmp_path / source.name
    changed.write_text(whole.replace(mutant["from"], mutant["to"]))
    classes = tmp_path / "classes"
    on = (DRIVER / "target" / "classpath").read_text()
    javac = ["javac", "-nowarn", "-proc:none", "--release", "17", "-cp", on, "-d", str(classes), str(changed)]
    subprocess.run(javac, check=True, timeout=120)
    plan = scenario.load("writers")
    clients = ((group, client) for group in plan.groups for client in group.clients)
    group, client = next(
        found for found in clients if found[0].language == "java" and found[1].label == mutant["client"]
    )
    env = {"JAVA": str(MUTANTS / "java"), "BENCH_MUTANT": str(classes)}
    said = said_of(plan, group, client, env, [*mutant["red"], *mutant["green"]])
    for target in mutant["red"]:
        assert said[target] in ("splits", "stalls"), said
    for target in mutant["green"]:
        assert said[target] not in ("splits", "nodelay off", "not run"), said


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
