"""The reference's errors: a kind of events.yaml."""

from __future__ import annotations

__all__ = ["CallError", "Cancelled"]


class CallError(Exception):
    """`kind` is one of error_kinds of events.yaml."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Cancelled(CallError):
    def __init__(self) -> None:
        super().__init__("cancelled", "the caller gave up")
