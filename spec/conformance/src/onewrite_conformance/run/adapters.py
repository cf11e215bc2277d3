"""Who is judged: a driver's command, its name, and what is known of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.places import LANGUAGES, ROOT
from onewrite_conformance.driver import run_file
from onewrite_conformance.run.known import KnownFailures

__all__ = ["Adapter", "Second", "adapters_of_checkout", "reference"]


@dataclass(frozen=True)
class Second:
    """A client over a second base library. The protocol has no kind for it: it is judged as `kind` is, and the driver's
    environment says by `api` which client is meant."""

    kind: str
    api: str
    families: tuple[str, ...] = ()  # of requirements: only cases that cover one of them; empty for all cases

    def takes(self, case: Case) -> bool:
        return not self.families or any(covered.split("-")[0] in self.families for covered in case.covers)


# Java's two are customizers over the handlers that `onewrite` is judged with: of them it is what leaves, and when. All
# cases would take the judge some minutes more.
SECOND = {
    "node": {"node:http": Second("onewrite", "http")},
    "python": {"httpx": Second("onewrite", "httpx")},
    "java": {
        "reactor-netty": Second("patched", "reactor-netty", ("TCP", "WIRE")),
        "ahc": Second("patched", "ahc", ("TCP", "WIRE")),
    },
}

# A driver lives for seconds or minutes: a JVM that compiles quickly takes a third less of the processor than one that
# compiles well. The bench, which compares times, does not ask for it.
ENV = {"java": {"ONEWRITE_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=10"}}


@dataclass
class Adapter:
    """A driver command with a name."""

    name: str
    command: list[str]
    known: KnownFailures = field(default_factory=lambda: KnownFailures(None))
    witness: bool = True  # whether the syscall witness looks at it as well
    settle: bool = True  # whether what fails is judged again; a mutant's failure is expected
    env: dict[str, str] = field(default_factory=dict)  # for every driver process, beside a case's own
    second: dict[str, Second] = field(default_factory=dict)  # clients over a second base library

    @property
    def own(self) -> tuple[str, ...]:
        """The client kinds that have the adapter in them."""
        return ("onewrite", "patched", *self.second)

    def seconds_of(self, case: Case, kinds: list[str]) -> list[str]:
        """The clients over a second base library that are judged by this case, with the kinds whose place they take."""
        return [name for name, second in self.second.items() if second.kind in kinds and second.takes(case)]

    def driver_of(self, client: str) -> tuple[str, dict[str, str]]:
        """The kind by which the protocol knows this client, and the environment of its driver."""
        if client in self.second:
            second = self.second[client]
            return second.kind, self.env | {"ONEWRITE_DRIVER_API": second.api}
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
