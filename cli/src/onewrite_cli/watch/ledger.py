"""A ledger of the sockets that may have Nagle's algorithm on: a new one fails.

A line names them as the report does, with * for any text: `out 10.0.0.5:5432`, `in :8080`, `out *:6379`. # begins a
comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.watch.sockets import WatchedSocket

__all__ = ["Ledger"]


class Ledger:
    """Raises CouldNotRun when the file cannot be read, or a line is none."""

    def __init__(self, path: Path) -> None:
        try:
            text = path.read_text()
        except (OSError, ValueError) as error:
            raise CouldNotRun(f"the ledger {path}: {getattr(error, 'strerror', None) or error}") from error
        self._patterns: list[str] = []
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 2 or words[0] not in ("in", "out", "*"):
                raise CouldNotRun(f"{path}:{number}: write `out HOST:PORT` or `in :PORT`, with * for any text")
            self._patterns.append(" ".join(words).replace("[", "[[]"))
        self._used: set[str] = set()

    def allows(self, watched: WatchedSocket) -> bool:
        matching = {pattern for pattern in self._patterns if fnmatchcase(watched.name, pattern)}
        self._used |= matching
        return bool(matching)

    def unused(self, sockets: Iterable[WatchedSocket]) -> list[str]:
        """Lines that no socket with Nagle on needs."""
        for watched in sockets:
            if watched.was_off:
                self.allows(watched)
        return [pattern.replace("[[]", "[") for pattern in self._patterns if pattern not in self._used]
