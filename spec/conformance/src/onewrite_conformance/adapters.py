"""Who is judged: a driver's command, its name, and what is known of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_conformance.driver import run_file
from onewrite_conformance.known import KnownFailures
from onewrite_conformance.places import LANGUAGES, ROOT

__all__ = ["Adapter", "adapters_of_checkout", "reference"]


@dataclass
class Adapter:
    """A driver command with a name."""

    name: str
    command: list[str]
    known: KnownFailures = field(default_factory=lambda: KnownFailures(None))
    witness: bool = True  # whether the syscall witness looks at it as well
    settle: bool = True  # whether what fails is judged again; a mutant's failure is what one is after
    env: dict[str, str] = field(default_factory=dict)  # for every driver process, beside a case's own


def adapters_of_checkout(names: list[str] | None = None, root: Path = ROOT) -> list[Adapter]:
    """The adapters of this checkout that have a driver."""
    found = []
    for name in names or LANGUAGES:
        folder = root / name
        found.append(Adapter(name, run_file(folder), KnownFailures(folder / "known-failures.txt")))
    return found


def reference(mutant: str | None = None) -> Adapter:
    """The judge's own client, whole or with one thing broken."""
    command = [sys.executable, "-m", "onewrite_conformance.reference"]
    return Adapter(
        "reference", command + (["--break", mutant] if mutant else []), witness=mutant is None, settle=mutant is None
    )
