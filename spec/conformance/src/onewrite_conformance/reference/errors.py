"""The reference's errors: a kind of events.yaml, and the phase in which it came."""

from __future__ import annotations

__all__ = ["CallError", "Cancelled"]


class CallError(Exception):
    """`kind` is one of error_kinds of events.yaml. `phase` is filled in by the call when it is None."""

    def __init__(self, kind: str, message: str, phase: str | None = None) -> None:
        super().__init__(message)
        self.kind, self.phase = kind, phase


class Cancelled(CallError):
    def __init__(self) -> None:
        super().__init__("cancelled", "the caller gave up")
