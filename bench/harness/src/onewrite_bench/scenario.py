"""Scenarios: one YAML file each. A scenario names targets (where requests go) and groups (clients that take turns)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import SCENARIOS

__all__ = ["Client", "Group", "Parameters", "Scenario", "Target", "load", "names"]

_SCHEMA = Path(__file__).with_name("scenario-v2.schema.json")
_ORDER = (
    "demo", "post-stall", "constant-rate", "rate-sweep", "nagle-relay", "short-tls", "wan", "split-response", "writers",
    "nagle-base", "proxy-env", "okhttp-tls", "okhttp-bodies",
)  # fmt: skip
_LABELS = {"patched": "onewrite"}


@dataclass(frozen=True)
class Target:
    """An address for requests. `at` is a server of the topology; where `stalls`, two writes with Nagle on must wait."""

    name: str
    at: str
    stalls: bool
    scheme: str = "http"
    path: str = "/"
    body: dict[str, Any] | None = None  # of the driver protocol, instead of bytes in memory
    proxy: bool = False  # through the forward proxy
    segments: int = 1  # the most segments of a small request
    pause_ms: int = 0  # of the kind `records`: before each request


@dataclass(frozen=True)
class Client:
    """One process of a group. `kind` is the program, `role` how it is judged.

    Kinds: those of the driver protocol (`stock`, `control`, `onewrite`, `patched`), and `socket`, a raw socket.
    Roles: `control` must stall, `adapter` must not, `reference` cannot, `shown` is in the table alone.
    """

    kind: str
    role: str
    label: str = ""  # the column of the table
    api: str | None = None
    program: str | None = None  # a program of bench/programs instead of the language's driver
    proxy: str | None = None  # "option", or "environment": HTTP_PROXY is set
    env: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    socket: dict[str, Any] = field(default_factory=dict)  # of the kind `socket`: nagle, writes, gap_us, quickack
    body: dict[str, Any] | None = None
    segments: int | None = None  # instead of the target's


@dataclass(frozen=True)
class Group:
    """Clients over some targets: one control, at most one adapter, one reference. Only a `required` group must run."""

    name: str
    language: str
    clients: tuple[Client, ...]
    targets: tuple[Target, ...]
    required: bool = True
    runtime: str | None = (
        None  # instead of this machine's: `debian` (sid, by .ci/in-debian), or `node24` (npm's package)
    )


@dataclass(frozen=True)
class Parameters:
    """The number of requests. `fresh` is that of each of `rounds` new connections; without it a connection is kept."""

    rounds: int = 5
    requests: int = 12
    fresh: int = 0
    side_by_side: bool = False  # several groups at a time, where no figures are compared
    rates: dict[str, Any] | None = None
    distances: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    story: str
    kind: str
    topology: dict[str, Any]
    groups: tuple[Group, ...]
    parameters: Parameters

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple({target.name: target for group in self.groups for target in group.targets}.values())

    @property
    def judges(self) -> bool:
        """True if the gate runs it. The demo repeats a part of post-stall; wan needs root."""
        required = (client for group in self.groups if group.required for client in group.clients)
        return any(client.role == "adapter" for client in required) and self.kind == "post" and self.name != "demo"


def names() -> list[str]:
    """The scenarios that there are, in a reader's order."""
    found = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
    return sorted(found, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def load(name: str) -> Scenario:
    """Read one scenario by name or path. Raises BenchError that names the wrong field."""
    path = Path(name) if name.endswith(".yaml") else SCENARIOS / f"{name}.yaml"
    try:
        raw = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise BenchError(f"there is no scenario {name!r}; there are: {', '.join(names())}") from None
    except yaml.YAMLError as error:
        raise BenchError(f"{path} is not YAML: {error}") from error
    validator = jsonschema.Draft202012Validator(json.loads(_SCHEMA.read_text()))
    problem = jsonschema.exceptions.best_match(validator.iter_errors(raw))
    if problem is not None:
        where = "/".join(str(part) for part in problem.absolute_path) or "the file"
        raise BenchError(f"{path}: {where}: {problem.message[:300]}")
    return _scenario(raw, path)


def _scenario(raw: dict[str, Any], path: Path) -> Scenario:
    targets = {entry["name"]: Target(**entry) for entry in raw["targets"]}
    groups = []
    for entry in raw["groups"]:
        wanted = entry.get("targets", list(targets))
        unknown = [name for name in wanted if name not in targets]
        if unknown:
            raise BenchError(f"{path}: a group names the unknown target {unknown[0]}")
        clients = tuple(_labelled(Client(**client)) for client in entry["clients"])
        if len({client.label for client in clients}) < len(clients):
            raise BenchError(f"{path}: a group has two clients with one label")
        for role in ("adapter", "control", "reference"):
            if sum(client.role == role for client in clients) > 1:
                raise BenchError(f"{path}: a group has two clients of role {role}")
        # `languages`: one group for each, alike but for its name.
        for language in entry.get("languages") or [entry.get("language", "raw")]:
            name = entry.get("name", language)
            of = tuple(targets[one] for one in wanted)
            groups.append(
                Group(name, language, _with_reference(clients), of, entry.get("required", True), entry.get("runtime"))
            )
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in raw.get("parameters", {}).items()
    }
    return Scenario(
        raw["name"], raw["title"], raw["story"], raw["kind"], raw["topology"], tuple(groups), Parameters(**values)
    )


def _labelled(client: Client) -> Client:
    return client if client.label else replace(client, label=_LABELS.get(client.kind, client.kind))


def _with_reference(clients: tuple[Client, ...]) -> tuple[Client, ...]:
    """Add a raw socket that cannot stall to a group with a control, unless it names one."""
    roles = [client.role for client in clients]
    if "control" not in roles or "reference" in roles:
        return clients
    proxy = "option" if any(client.proxy for client in clients) else None
    return (*clients, Client("socket", "reference", "raw socket", proxy=proxy))
