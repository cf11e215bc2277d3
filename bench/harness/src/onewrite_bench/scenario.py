"""Scenarios: what to run, spelled out in one YAML file each. Nothing is filled in from elsewhere.

A scenario names targets (where requests go), groups (processes that are compared with each other, interleaved in
rounds) and the topology they need. `kind` names the engine that runs it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import SCENARIOS

__all__ = ["Client", "Group", "Scenario", "Target", "load", "names"]

_SCHEMA = Path(__file__).with_name("scenario-v1.schema.json")


_ORDER = (
    "demo",
    "post-stall",
    "writers",
    "proxy-env",
    "nagle-relay",
    "short-tls",
    "okhttp-tls",
    "okhttp-bodies",
    "payload-sweep",
    "burst",
    "split-response",
    "wan",
    "per-call-cost",
)


@dataclass(frozen=True)
class Target:
    """Where requests go. `at` is a place of the topology; `stalls` says what two writes with Nagle on meet there."""

    name: str
    at: str
    stalls: bool
    scheme: str = "http"
    path: str = "/"
    note: str = ""
    url: str | None = None  # an address outside the topology, which the user named
    body: dict[str, Any] | None = None  # as the driver protocol has it, instead of bytes in memory
    proxy: str | None = None  # "option": by way of the forward proxy
    segments: int = 1  # most that a small request may take there


@dataclass(frozen=True)
class Client:
    """One process of a group. `role` decides how it is judged, `kind` what the driver is asked to be.

    Roles: `control` (expected to stall where the target stalls), `adapter` (must not), `good` (a raw client that
    cannot), `shown` (for the table alone).
    """

    label: str
    kind: str
    role: str
    api: str | None = None
    proxy: str | None = None  # None, "option" or "environment"
    env: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    competitor: bool = False  # another library, driven by bench/competitors
    body: dict[str, Any] | None = None  # as the driver protocol has it, instead of bytes in memory
    language: str | None = None  # another driver than the group's: `raw` for a good control that takes its turns
    segments: int | None = None  # most that a request of this client may take, where the target's limit is another
    checkout: str | None = None  # another checkout that the driver is taken from, when revisions are compared


@dataclass(frozen=True)
class Group:
    """Clients of one language over some targets. A group that is not `required` cannot make a run inconclusive."""

    name: str
    language: str
    clients: tuple[Client, ...]
    targets: tuple[Target, ...]
    required: bool = True


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    story: str
    kind: str
    topology: dict[str, Any]
    groups: tuple[Group, ...]
    parameters: dict[str, Any]

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple({target.name: target for group in self.groups for target in group.targets}.values())


def names() -> list[str]:
    """The scenarios that there are, in the order of a reader's interest; unknown ones last."""
    found = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
    return sorted(found, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def load(name: str) -> Scenario:
    """Read one scenario by name or by path. Raises BenchError with what is wrong and where."""
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
    targets = {entry["name"]: Target(**entry) for entry in raw.get("targets", [])}
    groups = []
    for entry in raw.get("groups", []):
        wanted = entry.get("targets", list(targets))
        unknown = [name for name in wanted if name not in targets]
        if unknown:
            raise BenchError(f"{path}: a group names the unknown target {unknown[0]}")
        # `languages`: a group for each of them, alike but for its name.
        for language in entry.get("languages") or [entry["language"]]:
            groups.append(
                Group(
                    name=entry.get("name", language),
                    language=language,
                    clients=tuple(Client(**client) for client in entry["clients"]),
                    targets=tuple(targets[name] for name in wanted),
                    required=entry.get("required", True),
                )
            )
    return Scenario(
        name=raw["name"],
        title=raw["title"],
        story=raw["story"],
        kind=raw["kind"],
        topology=raw["topology"],
        groups=tuple(groups),
        parameters=raw["parameters"],
    )
