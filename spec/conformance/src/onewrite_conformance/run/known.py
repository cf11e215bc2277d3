"""Known failures: runs that an adapter is known to fail, each with a reason, none of them out of date."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from onewrite_conformance.contract.cases import within

__all__ = ["KnownFailure", "KnownFailures"]


@dataclass
class KnownFailure:
    """One line of known-failures.txt."""

    pattern: str
    reason: str
    where: str
    failed: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def covers(self, path: str) -> bool:
        return within(path, self.pattern)


class KnownFailures:
    """The lines of one file. A file that does not exist has none."""

    def __init__(self, path: Path | None) -> None:
        self.lines: list[KnownFailure] = []
        self.faults: list[str] = []
        if path is None or not path.exists():
            return
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            pattern, _, reason = line.strip().partition(" ")
            where = f"{path.parent.name}/{path.name}:{number}"
            if not reason.strip():
                self.faults.append(f"{where}: {pattern} has no reason")
            self.lines.append(KnownFailure(pattern, reason.strip(), where))

    def find(self, path: str) -> KnownFailure | None:
        return next((line for line in self.lines if line.covers(path)), None)

    def passing(self) -> list[KnownFailure]:
        """Lines whose runs all passed."""
        return [line for line in self.lines if line.passed and not line.failed]

    def stale(self, names: set[str]) -> list[str]:
        """Lines whose cases no longer fail, and lines that name no run (`names` are all paths there are)."""
        found = []
        for line in self.lines:
            if not any(line.covers(name) for name in names):
                found.append(f"{line.where}: {line.pattern} names no case")
            elif line in self.passing():
                found.append(f"{line.where}: {line.pattern} passes now; remove the line")
        return found
