"""Who is judged: a driver's command, its name, and what is known of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_conformance.contract.places import LANGUAGES, ROOT
from onewrite_conformance.driver import run_file
from onewrite_conformance.run.known import KnownFailures

__all__ = ["Adapter", "adapters_of_checkout", "reference"]

# Own clients over a second base library. The protocol has no kind for them: they are judged as `onewrite` is, and the
# driver's environment says which client is meant.
SECOND = {
    "node": {"node:http": {"ONEWRITE_DRIVER_API": "http"}},
    "python": {"httpx": {"ONEWRITE_DRIVER_API": "httpx"}},
}

# A driver lives for seconds or minutes: a JVM that compiles quickly takes a third less of the processor than one that
# compiles well. The bench, which compares times, does not ask for it.
ENV = {"java": {"ONEWRITE_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}}


@dataclass
class Adapter:
    """A driver command with a name."""

    name: str
    command: list[str]
    known: KnownFailures = field(default_factory=lambda: KnownFailures(None))
    witness: bool = True  # whether the syscall witness looks at it as well
    settle: bool = True  # whether what fails is judged again; a mutant's failure is expected
    env: dict[str, str] = field(default_factory=dict)  # for every driver process, beside a case's own
    second: dict[str, dict[str, str]] = field(default_factory=dict)  # clients over a second base library: environment

    @property
    def own(self) -> tuple[str, ...]:
        """The client kinds that have the adapter in them."""
        return ("onewrite", "patched", *self.second)

    def driver_of(self, client: str) -> tuple[str, dict[str, str]]:
        """The kind by which the protocol knows this client, and the environment of its driver."""
        if client in self.second:
            return "onewrite", self.env | self.second[client]
        return client, self.env


def adapters_of_checkout(names: list[str] | None = None, root: Path = ROOT) -> list[Adapter]:
    """The adapters of this checkout that have a driver."""
    found = []
    for name in names or LANGUAGES:
        folder = root / name
        known = KnownFailures(folder / "known-failures.txt")
        found.append(Adapter(name, run_file(folder), known, env=dict(ENV.get(name, {})), second=SECOND.get(name, {})))
    return found


def reference(mutant: str | None = None) -> Adapter:
    """The judge's own client, whole or with one thing broken."""
    command = [sys.executable, "-m", "onewrite_conformance.reference"]
    return Adapter(
        "reference", command + (["--break", mutant] if mutant else []), witness=mutant is None, settle=mutant is None
    )
