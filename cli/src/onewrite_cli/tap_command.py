"""`onewrite tap`: the counting server alone, to hold any client against it by hand."""

from __future__ import annotations

from onewrite_cli.exit_status import ExitStatus
from onewrite_cli.judge import tap_main

__all__ = ["tap"]


def tap(port: int, *, tls: bool, mss: int | None, delay_ms: int, trace: bool) -> ExitStatus:
    """Serve until interrupted; one line per request."""
    arguments = ["--port", str(port), "--delay-ms", str(delay_ms)]
    arguments += ["--tls"] if tls else []
    arguments += ["--trace"] if trace else []
    arguments += ["--mss", str(mss)] if mss else []
    return ExitStatus(tap_main(arguments))
