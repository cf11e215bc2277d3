"""The gate sees a split in each way of writing alone: a mutant splits what goes to one path and no other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import repeat
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client

MUTANTS = Path(__file__).with_name("mutants")
START = {
    "python": {"PYTHONPATH": str(MUTANTS)},  # sitecustomize.py
    "ruby": {"RUBYOPT": f"-r{MUTANTS / 'split.rb'}"},
    "node": {"NODE_OPTIONS": f"--require={MUTANTS / 'split.cjs'}"},
}


def states(language: str, mutant: str | None, targets: list[str]) -> dict[str, str]:
    """What the gate's scenario says of the language's own classes at each target, the client being broken for one."""
    plan = scenario.load("writers")
    group = next(group for group in plan.groups if group.language == language and set(targets) <= names(group.targets))
    env = {**START[language], "BENCH_SPLIT": mutant} if mutant else {}
    adapter = next(client for client in group.clients if client.role == "adapter")
    rest = [client for client in group.clients if client.role in ("control", "good")]
    clients: tuple[Client, ...] = (*rest, replace(adapter, env=env))
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
