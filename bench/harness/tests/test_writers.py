"""The gate sees each fault in each way of writing: an adapter is broken, and its rows turn red.

Faults are made when the test runs, by three means, so that none goes stale with the adapters' sources:
- the switches that every adapter has (CFG-3, CFG-4), and a driver's option to keep no connection;
- a file that the runtime loads first, which splits what goes to one path and no other;
- Java's sources, changed and compiled (java/driver/mutants.yaml).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers, post, repeat
from onewrite_bench.paths import REPOSITORY
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client, Group
from onewrite_bench.verdict.judge import judge
from onewrite_bench.verdict.results import Run, Verdict

MUTANTS = Path(__file__).with_name("mutants")
START = {
    "python": {"PYTHONPATH": str(MUTANTS)},  # sitecustomize.py
    "ruby": {"RUBYOPT": f"-r{MUTANTS / 'split.rb'}"},
    "node": {"NODE_OPTIONS": f"--require={MUTANTS / 'split.cjs'}"},
}
#: Which path each mutant splits, and the target of the scenario that has it.
SPLIT = {"/form": "form", "/multipart": "multipart", "/https": "https", "/bytes": "bytes"}
BY_PROXY = {"/forward": "forward proxy", "/connect": "CONNECT"}
STREAM = {"/stream": "streamed body"}
SEEN_AT = {
    "python": SPLIT | STREAM | BY_PROXY,
    "ruby": SPLIT | STREAM | BY_PROXY,
    "node undici": {"/form": "form", "/https": "https", "/bytes": "bytes", "/published": "published body"} | STREAM,
    "node, proxies": BY_PROXY,
}
#: By group, the targets where the gate must see that head and body are not joined. Elsewhere the base library makes
#: one write, too.
NOT_JOINED = {
    "python": {"bytes", "form", "multipart", "https", "forward proxy", "CONNECT"},
    "python requests": {"bytes", "form", "multipart", "https"},
    "python install()": {"bytes", "form", "multipart", "https"},
    "ruby": {"bytes", "form", "multipart", "https", "forward proxy", "CONNECT"},
    "node undici": {"published body"},
    "node, FormData": {"multipart"},
    "node fetch, FormData": {"multipart"},
    "java": {"published body"},
    "java NIO": {"published body"},
    "java Reactor Netty": {"published body", "multipart"},
}
#: These run in make test, the others in make nightly.
USUAL = ("python", "ruby", "node undici", "java")
#: A driver in Java lives for some seconds: the optimizing compiler would cost more than it gains.
QUICK = {"ONEWRITE_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}

DRIVER = REPOSITORY / "java" / "driver"
JAVA: list[dict[str, Any]] = yaml.safe_load((DRIVER / "mutants.yaml").read_text())
GROUP_OF = {
    "onewrite": "java",
    "onewrite NIO": "java NIO",
    "onewrite-okhttp": "java OkHttp",
    "onewrite-reactor-netty": "java Reactor Netty",
}


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    # The kernel's counts decide here, and need no compiled code.
    monkeypatch.setattr(post, "WARM_UP_S", 0.02)


def group_of(name: str, plan: str = "writers") -> Group:
    return next(group for group in scenario.load(plan).groups if group.name == name)


def run_small(group: Group, clients: tuple[Client, ...], targets: set[str], plan: str = "writers") -> Run:
    """One group of the gate's scenario with a few requests."""
    assert targets <= {target.name for target in group.targets}
    clients = tuple(replace(client, env={**client.env, **QUICK}) for client in clients)
    kept = tuple(target for target in group.targets if target.name in targets)
    small = scenario.load(plan)
    small = replace(small, parameters=replace(small.parameters, rounds=2, requests=6))
    run = execute(replace(small, groups=(replace(group, clients=clients, targets=kept),)), Console(quiet=True), "test")
    why = next((cell.missing for cell in run.cells if cell.missing), None)
    if why is not None and ("not set up" in why or "older than its source" in why or "no " in why[:3]):
        pytest.skip(why)
    return run


def verdicts(
    group: Group, mutants: Mapping[str, Mapping[str, str]], targets: set[str], plan: str = "writers"
) -> dict[str, dict[str, Verdict]]:
    """The gate's verdict on each mutant at each target. `mutants`: by name, the environment that makes it."""
    (adapter,) = (client for client in group.clients if client.role == "adapter")
    others = tuple(client for client in group.clients if client.role != "adapter")
    broken = tuple(replace(adapter, label=name, env={**adapter.env, **env}) for name, env in mutants.items())
    cells = run_small(group, others + broken, targets, plan).cells
    found: dict[str, dict[str, Verdict]] = {name: {} for name in mutants}
    for name in mutants:
        for target in targets:
            beside = [one for one in cells if one.target == target and (one.role != "adapter" or one.client == name)]
            (found[name][target],) = judge(beside)
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("name", SEEN_AT)
def test_a_split_of_one_writer_is_seen_where_it_is_and_nowhere_else(name: str) -> None:
    seen_at, group = SEEN_AT[name], group_of(name)
    targets = set(seen_at.values())
    mutants = {mutant: {**START[group.language], "BENCH_SPLIT": mutant} for mutant in seen_at}
    said = verdicts(group, mutants, targets)
    for mutant, red in seen_at.items():
        assert said[mutant][red].state == "faulty", (mutant, said[mutant])
        for green in targets - {red}:
            assert not said[mutant][green].certain, (mutant, said[mutant])


@pytest.mark.parametrize(
    "name", [one if one in USUAL else pytest.param(one, marks=pytest.mark.nightly) for one in NOT_JOINED]
)
def test_an_adapter_that_does_not_join_is_seen(name: str) -> None:
    switch = {"off": {"ONEWRITE_DISABLED": "true"}}
    (said,) = verdicts(group_of(name), switch, NOT_JOINED[name]).values()
    assert all({"splits", "stalls"} & set(one.faults) for one in said.values()), said


@pytest.mark.nightly
@pytest.mark.parametrize("name", [group.name for group in scenario.load("nagle-base").groups])
def test_an_adapter_without_nodelay_is_seen(name: str) -> None:
    """The base leaves Nagle on there, so nobody sets TCP_NODELAY in the adapter's stead."""
    group = group_of(name, "nagle-base")
    switch = {"off": {"ONEWRITE_DISABLED": "true"}}
    (target,) = {target.name for target in group.targets}
    (stock,) = (client for client in group.clients if client.kind == "stock")
    cells = run_small(group, (stock,), {target}, "nagle-base").cells
    if not cells[0].bare_connections:
        pytest.skip(f"{name}: the driver's option leaves TCP_NODELAY on: {cells[0]}")
    (said,) = verdicts(group, switch, {target}, "nagle-base").values()
    assert "nodelay off" in said[target].faults, said


@pytest.mark.nightly
@pytest.mark.parametrize("language", ["python", "ruby", "node", "java"])
def test_an_adapter_that_keeps_no_connection_is_inconclusive(language: str) -> None:
    """The kernel then counts nothing on a connection that stays: no segment is not one segment."""
    group = group_of(language, "post-stall")
    clients = tuple(
        replace(client, options={**client.options, "keepalive": False}) if client.role == "adapter" else client
        for client in group.clients
        if client.role != "shown"
    )
    run = run_small(group, clients, {"http-buffer-request", "default"}, "post-stall")
    assert [line.state for line in run.verdicts] == ["inconclusive"], run.verdicts
    assert "so keep-alive is broken" in run.verdicts[0].text
    assert run.exit_status == 2


def test_every_adapter_of_the_gate_is_broken_once() -> None:
    groups = {group.name for group in scenario.load("writers").groups}
    # undici itself joins a Blob and the form of fetch, node:http the head with what is written in the same turn, OkHttp
    # 8 KiB. Netty sends a file by sendfile. These writes are not the adapter's.
    own = {
        "node, proxies",
        "node fetch",
        "node http",
        "java, file",
        "java OkHttp",
    }
    assert groups - set(NOT_JOINED) == own


@pytest.mark.nightly
def test_a_control_that_does_not_stall_makes_the_gate_inconclusive() -> None:
    """Were the control cured, nothing would show that an adapter does any good."""
    group = group_of("python")
    clients = tuple(replace(one, kind="onewrite") if one.role == "control" else one for one in group.clients)
    run = run_small(group, clients, {"bytes"})
    assert [line.state for line in run.verdicts] == ["inconclusive"]
    assert "the control stalled in" in run.verdicts[0].text
    assert run.exit_status == 2


@pytest.mark.nightly
@pytest.mark.parametrize("client", dict.fromkeys(mutant["client"] for mutant in JAVA))
def test_a_writer_of_java_that_splits_is_seen(client: str, tmp_path: Path) -> None:
    if not (DRIVER / "target" / "classpath").exists() or drivers.stale("java"):
        pytest.skip("the java driver is not set up")
    mutants = [mutant for mutant in JAVA if mutant["client"] == client]
    start = {
        mutant["name"]: {"JAVA": str(MUTANTS / "java"), "BENCH_MUTANT": str(compiled(mutant, tmp_path / str(number)))}
        for number, mutant in enumerate(mutants)
    }
    targets = {target for mutant in mutants for target in (*mutant["red"], *mutant["green"])}
    said = verdicts(group_of(GROUP_OF[client]), start, targets)
    for mutant in mutants:
        of = said[mutant["name"]]
        assert all(of[target].state == "faulty" for target in mutant["red"]), (mutant["name"], of)
        assert not any(of[target].certain or of[target].state == "not run" for target in mutant["green"]), of


def compiled(mutant: dict[str, Any], folder: Path) -> Path:
    """The classes of the changed source."""
    source = REPOSITORY / "java" / mutant["source"]
    whole = source.read_text()
    assert whole.count(mutant["from"]) == 1, f"{DRIVER}/mutants.yaml does not fit {source} any more"
    folder.mkdir()
    changed = folder / source.name
    changed.write_text(whole.replace(mutant["from"], mutant["to"]))
    on = (DRIVER / "target" / "classpath").read_text()
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    javac = ["javac", *quick, "-nowarn", "-proc:none", "--release", "17", "-cp", on, "-d", str(folder), str(changed)]
    subprocess.run(javac, check=True, timeout=120)
    return folder


def test_the_gate_has_every_writer() -> None:
    plan = scenario.load("writers")
    assert plan.judges
    for language in drivers.languages():
        judged = {target.name for group in plan.groups if group.language == language for target in group.targets}
        assert {"bytes", "form", "multipart", "streamed body", "https", "forward proxy", "CONNECT"} <= judged, language
