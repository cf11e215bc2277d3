"""Adapters: a driver's command, its name and its known failures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from onewrite_conformance.contract.cases import LIMIT, Case
from onewrite_conformance.contract.places import ROOT
from onewrite_conformance.driver import run_file
from onewrite_conformance.run.known import KnownFailures

__all__ = ["Adapter", "Second", "adapter_names", "adapters_of_checkout", "of_command", "of_folder"]


@dataclass(frozen=True)
class Second:
    """A client over a second base library. The protocol has no kind for it: it is judged as `kind` is, and the driver's
    environment says by `api` which client is meant."""

    kind: str
    api: str
    families: tuple[str, ...] = ()  # of requirements: only their cases; empty for all cases

    def takes(self, case: Case) -> bool:
        return not self.families or case.of.split("-")[0] in self.families


@dataclass
class Adapter:
    """A driver command with a name."""

    name: str
    command: list[str]
    known: KnownFailures = field(default_factory=lambda: KnownFailures(None))
    again: bool = True  # whether what fails is judged again; a mutant's failure is expected
    env: dict[str, str] = field(default_factory=dict)  # for every driver process, beside a case's own
    second: dict[str, Second] = field(default_factory=dict)  # clients over a second base library
    own_messages: tuple[str, ...] = ()  # clients whose exceptions have messages of their own
    limits: dict[str, int] = field(default_factory=dict)  # bytes of a client's joining buffer, where it is not LIMIT
    guest: bool = False  # a driver that was named on the command line
    stock: str = ""  # the name of its base library, for a column of the matrix

    @property
    def own(self) -> tuple[str, ...]:
        """The client kinds that have the adapter in them."""
        return ("onewrite", "patched", *self.second)

    def compares(self, client: str) -> bool:
        """Whether this client is compared with stock."""
        second = self.second.get(client)
        return second is None or not second.families or "SAME" in second.families

    def limit_of(self, client: str) -> int:
        """Bytes of head and body up to which this client joins them."""
        return self.limits.get(client, LIMIT)

    def seconds_of(self, case: Case, kinds: list[str]) -> list[str]:
        """The clients over a second base library that are judged by this case, with the kinds whose place they take."""
        return [name for name, second in self.second.items() if second.kind in kinds and second.takes(case)]

    def driver_of(self, client: str) -> tuple[str, dict[str, str]]:
        """The protocol's kind of this client, and the environment of its driver."""
        if client in self.second:
            second = self.second[client]
            return second.kind, self.env | {"ONEWRITE_DRIVER_API": second.api}
        return client, self.env


def adapter_names(root: Path = ROOT) -> list[str]:
    """The folders of this checkout that have a `driver/run`. Empty where the judge is installed without a checkout."""
    return sorted(file.parent.parent.name for file in root.glob("*/driver/run"))


def of_folder(folder: Path, *, guest: bool = False) -> Adapter:
    """The adapter in a folder with `driver/run`, its known-failures.txt, and driver/judge.yaml (PROTOCOL.md)."""
    settings: dict[str, Any] = {}
    if (file := folder / "driver" / "judge.yaml").exists():
        settings = yaml.safe_load(file.read_text()) or {}
    second = {
        name: Second(one["kind"], one["api"], tuple(one.get("families", ())))
        for name, one in settings.get("clients", {}).items()
    }
    return Adapter(
        folder.name,
        run_file(folder),
        KnownFailures(folder / "known-failures.txt"),
        guest=guest,
        env=dict(settings.get("environment", {})),
        second=second,
        own_messages=tuple(settings.get("own_messages", ())),
        limits=dict(settings.get("joining_buffer", {})),
        stock=settings.get("stock", f"{folder.name} stock"),
    )


def of_command(command: str) -> Adapter:
    """The driver that `--driver` names: a folder with `driver/run`, such a file, or any command."""
    words = shlex.split(command)
    path = Path(words[0]) if len(words) == 1 else None
    if path is not None and (path / "driver" / "run").is_file():
        return of_folder(path.resolve(), guest=True)
    if path is not None and path.parts[-2:] == ("driver", "run") and path.is_file():
        return of_folder(path.resolve().parent.parent, guest=True)
    return Adapter("driver", words, guest=True, stock="stock")


def adapters_of_checkout(names: Sequence[str] | None = None, root: Path = ROOT) -> list[Adapter]:
    """The adapters of this checkout that have a driver."""
    return [of_folder(root / name) for name in (adapter_names(root) if names is None else names)]
