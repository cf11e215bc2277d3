"""The gate sees each fault in each way of writing: an adapter is broken, and its rows turn red.

The faults are made by the adapters' own switches and by a driver's option to keep no connection, so none grows stale.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers, post, repeat
from onewrite_bench.run.execute import execute
from onewrite_bench.scenario import Client, Group
from onewrite_bench.verdict.judge import judge
from onewrite_bench.verdict.results import Run, Verdict

#: By group, the targets where the gate must see that head and body are not joined. Elsewhere the base library makes
#: one write too.
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


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "MEASUREMENTS", 1)
    # The kernel's counts decide here, and need no compiled code.
    monkeypatch.setattr(post, "WARM_UP_S", 0.02)


def group_of(name: str, plan: str = "writers") -> Group:
    return next(group for group in scenario.load(plan).groups if group.name == name)


def switched_off(group: Group) -> tuple[Client, ...]:
    """The group's clients, of which the adapter does nothing."""
    off = {"ONEWRITE_DISABLED": "true"}
    return tuple(replace(one, env={**one.env, **off} if one.role == "adapter" else one.env) for one in group.clients)


def verdicts(run: Run) -> dict[str, Verdict]:
    """The verdict of each target alone."""
    targets = dict.fromkeys(cell.target for cell in run.cells)
    return {target: judge([cell for cell in run.cells if cell.target == target])[0] for target in targets}


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


@pytest.mark.parametrize(
    "name", [one if one in USUAL else pytest.param(one, marks=pytest.mark.nightly) for one in NOT_JOINED]
)
def test_an_adapter_that_does_not_join_is_seen(name: str) -> None:
    group = group_of(name)
    for target, line in verdicts(run_small(group, switched_off(group), NOT_JOINED[name])).items():
        assert {"splits", "stalls"} & set(line.faults), (target, line)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [group.name for group in scenario.load("nagle-base").groups])
def test_an_adapter_without_nodelay_is_seen(name: str) -> None:
    """The base leaves Nagle on there, so only the adapter sets TCP_NODELAY."""
    group = group_of(name, "nagle-base")
    (line,) = verdicts(run_small(group, switched_off(group), {"http-buffer-request"}, "nagle-base")).values()
    assert "nodelay off" in line.faults, line


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
    # undici itself joins a Blob and the form of fetch, node:http the writes of one turn, OkHttp 8 KiB. Netty sends a
    # file by sendfile. These writes are not the adapter's.
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
    """Without a control that stalls, nothing shows that an adapter helps."""
    group = group_of("python")
    clients = tuple(replace(one, kind="onewrite") if one.role == "control" else one for one in group.clients)
    run = run_small(group, clients, {"bytes"})
    assert [line.state for line in run.verdicts] == ["inconclusive"]
    assert "the control stalled in" in run.verdicts[0].text
    assert run.exit_status == 2


def test_the_gate_has_every_writer() -> None:
    plan = scenario.load("writers")
    assert plan.judges
    for language in drivers.languages():
        judged = {target.name for group in plan.groups if group.language == language for target in group.targets}
        assert {"bytes", "form", "multipart", "streamed body", "https", "forward proxy", "CONNECT"} <= judged, language
