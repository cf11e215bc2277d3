"""The gate sees each fault in each way of writing: an adapter is broken, and its rows turn red.

Faults are made when the test runs, by three means, so that none goes stale with the adapters' sources:
- the switches that every adapter has (CFG-3, CFG-4): without joining, without TCP_NODELAY;
- a file that the runtime loads first: it splits what goes to one path and no other, or leaves Nagle on everywhere;
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
from onewrite_bench.engines import drivers, repeat
from onewrite_bench.paths import REPOSITORY
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client, Group, Scenario
from onewrite_bench.verdict.judge import judge

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
    ("python", "onewrite"): SPLIT | STREAM | BY_PROXY,
    ("ruby", "onewrite"): SPLIT | STREAM | BY_PROXY,
    ("node", "onewrite"): {"/form": "form", "/https": "https", "/bytes": "bytes", "/published": "published body"}
    | STREAM,
    ("node, proxies and forms", "onewrite"): {"/multipart": "multipart", **BY_PROXY},
}
#: By group and adapter, the targets where the gate must see that head and body are not joined. Elsewhere the base
#: library makes one write, too.
NOT_JOINED = {
    ("python", "onewrite"): {"bytes", "form", "multipart", "https", "forward proxy", "CONNECT"},
    ("python", "onewrite requests"): {"bytes", "form", "multipart", "https"},
    ("python", "install()"): {"bytes", "form", "multipart", "https"},
    ("ruby", "onewrite"): {"bytes", "form", "multipart", "https", "forward proxy", "CONNECT"},
    ("node", "onewrite"): {"published body"},
    ("node, proxies and forms", "onewrite"): {"multipart"},
    ("node, fetch and a FormData", "fetch"): {"multipart"},
    ("java", "onewrite"): {"published body"},
    ("java", "onewrite NIO"): {"published body"},
    ("java, OkHttp", "onewrite-okhttp"): {"large body"},
    ("java, Reactor Netty", "onewrite-reactor-netty"): {"published body", "multipart"},
    ("java, AsyncHttpClient", "onewrite-ahc"): {"published body", "multipart"},
}
#: By group and adapter, the targets where the gate must see that TCP_NODELAY is off, and what takes it away.
SWITCH = {"ONEWRITE_NODELAY_DISABLED": "true"}
NAGLE = {
    ("python", "onewrite"): ({"BENCH_NAGLE": "1"}, {"bytes", "https", "forward proxy", "CONNECT"}),
    ("python", "onewrite requests"): ({"BENCH_NAGLE": "1"}, {"bytes", "https"}),
    ("python", "install()"): ({"BENCH_NAGLE": "1"}, {"bytes", "https"}),
    ("ruby", "onewrite"): ({"BENCH_NAGLE": "1"}, {"bytes", "https", "forward proxy", "CONNECT"}),
    ("node", "onewrite"): ({"BENCH_NAGLE": "1"}, {"bytes", "https"}),
    ("node", "onewrite node:http"): ({"BENCH_NAGLE": "1"}, {"bytes", "https"}),
    ("node, fetch and install()", "fetch"): ({"BENCH_NAGLE": "1"}, {"form"}),
    ("node, fetch and a FormData", "fetch"): ({"BENCH_NAGLE": "1"}, {"multipart"}),
    ("node, proxies and forms", "onewrite"): ({"BENCH_NAGLE": "1"}, {"forward proxy", "CONNECT"}),
    ("java, OkHttp", "onewrite-okhttp"): (SWITCH, {"bytes", "https", "forward proxy", "CONNECT"}),
}
RED = ("splits", "stalls", "nodelay off")
#: A driver in Java lives for some seconds: the optimizing compiler would cost more than it gains.
QUICK = "-XX:TieredStopAtLevel=1"

DRIVER = REPOSITORY / "java" / "driver"
JAVA: list[dict[str, Any]] = yaml.safe_load((DRIVER / "mutants.yaml").read_text())


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)


def adapter_in(of: str, label: str | None = None) -> tuple[Group, Client]:
    """The first group of this name or language in the gate's scenario with this adapter, and the adapter."""
    groups = [group for group in scenario.load("writers").groups if of in (group.name, group.language)]
    clients = ((group, client) for group in groups for client in group.clients)
    return next(found for found in clients if found[1].role == "adapter" and label in (None, found[1].label))


def states(
    group: Group, adapter: Client, mutants: Mapping[str, dict[str, str]], targets: set[str]
) -> dict[str, dict[str, str]]:
    """What the gate says of each mutant at each target. `mutants`: by name, the environment that makes it."""
    controls = tuple(client for client in group.clients if client.role in ("control", "good"))
    broken = tuple(replace(adapter, label=name, env={**adapter.env, **env}) for name, env in mutants.items())
    cells = execute(small(group, controls + broken, targets), Console(quiet=True), "test").cells
    said: dict[str, dict[str, str]] = {name: {} for name in mutants}
    for name in mutants:
        for target in targets:
            beside = [
                cell for cell in cells if cell.target == target and (cell.role != "adapter" or cell.client == name)
            ]
            (verdict,) = judge(beside)
            said[name][target] = verdict.state
            if "not set up" in verdict.text or "older than its source" in verdict.text:
                pytest.skip(verdict.text)
    return said


def small(group: Group, clients: tuple[Client, ...], targets: set[str]) -> Scenario:
    """The gate's scenario with one group and a few requests."""
    assert targets <= {target.name for target in group.targets}
    clients = tuple(replace(client, env={**client.env, "ONEWRITE_JAVA_OPTS": QUICK}) for client in clients)
    kept = tuple(target for target in group.targets if target.name in targets)
    plan = scenario.load("writers")
    parameters = {**plan.parameters, "rounds": 2, "requests": 10, "warmup_s": 0}
    return replace(plan, groups=(replace(group, clients=clients, targets=kept),), parameters=parameters)


@pytest.mark.drawn
@pytest.mark.parametrize(("group", "label"), SEEN_AT)
def test_a_split_of_one_writer_is_seen_where_it_is_and_nowhere_else(group: str, label: str) -> None:
    seen_at = SEEN_AT[group, label]
    found = adapter_in(group, label)
    targets = set(seen_at.values())
    mutants = {mutant: {**START[found[0].language], "BENCH_SPLIT": mutant} for mutant in seen_at}
    said = states(*found, mutants, targets)
    for mutant, red in seen_at.items():
        assert said[mutant][red] in RED, (mutant, said[mutant])
        for green in targets - {red}:
            assert said[mutant][green] not in ("splits", "nodelay off", "not run"), (mutant, said[mutant])


@pytest.mark.drawn
@pytest.mark.parametrize(("group", "label"), NOT_JOINED)
def test_an_adapter_that_does_not_join_is_seen(group: str, label: str) -> None:
    targets = NOT_JOINED[group, label]
    (said,) = states(
        *adapter_in(group, label), {"not joined": {"ONEWRITE_COALESCE_DISABLED": "true"}}, targets
    ).values()
    assert all(state in ("splits", "stalls") for state in said.values()), said


@pytest.mark.drawn
@pytest.mark.parametrize(("group", "label"), NAGLE)
def test_an_adapter_without_nodelay_is_seen(group: str, label: str) -> None:
    env, targets = NAGLE[group, label]
    found = adapter_in(group, label)
    (said,) = states(*found, {"Nagle": {**START.get(found[0].language, {}), **env}}, targets).values()
    assert all(state in ("nodelay off", "stalls") for state in said.values()), said


def test_every_adapter_of_the_gate_is_broken_once() -> None:
    groups = scenario.load("writers").groups
    judged = {(group.name, client.label) for group in groups for client in group.clients if client.role == "adapter"}
    of_java = {mutant["client"] for mutant in JAVA if mutant["name"].endswith("TCP_NODELAY")}
    assert {one for one in judged - set(NAGLE) if one[1] not in of_java} == set(), "each without TCP_NODELAY"
    # undici itself joins the form of fetch, and node:http the head with what is written in the same turn.
    assert judged - set(NOT_JOINED) == {("node, fetch and install()", "fetch"), ("node", "onewrite node:http")}


def test_a_control_that_does_not_stall_makes_the_gate_inconclusive() -> None:
    """Were the control cured, nothing would show that an adapter does any good."""
    group, adapter = adapter_in("python", "onewrite")
    control, good = (next(client for client in group.clients if client.role == role) for role in ("control", "good"))
    cured = replace(control, kind="onewrite")
    run = execute(small(group, (cured, adapter, good), {"bytes"}), Console(quiet=True), "test")
    if any(cell.failed or cell.skipped for cell in run.cells):
        pytest.skip("the python driver is not set up")
    assert [verdict.state for verdict in run.verdicts] == ["inconclusive"]
    assert "the control stalled in" in run.verdicts[0].text
    assert run.exit_status == 2


@pytest.mark.drawn
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
    said = states(*adapter_in("java", client), start, targets)
    for mutant in mutants:
        of = said[mutant["name"]]
        assert all(of[target] in RED for target in mutant["red"]), (mutant["name"], of)
        assert not any(of[target] in ("splits", "nodelay off", "not run") for target in mutant["green"]), (
            mutant["name"],
            of,
        )


def compiled(mutant: dict[str, Any], folder: Path) -> Path:
    """The classes of the changed source. The file is found by its name, whatever module and package it is in."""
    name = Path(mutant["source"]).name
    (source,) = (path for path in (REPOSITORY / "java").glob(f"*/src/main/java/**/{name}"))
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
    for language in drivers.languages():
        judged = {
            target.name
            for group in plan.groups
            for target in group.targets
            if group.language == language and any(client.role == "adapter" for client in group.clients)
        }
        assert {"bytes", "form", "multipart", "streamed body", "https", "forward proxy", "CONNECT"} <= judged, language
