"""Which HTTP versions a TLS server speaks, by ALPN (RFC 7301)."""

from __future__ import annotations

from pathlib import Path

from onewrite_cli.doctor.arms import ONE
from onewrite_cli.doctor.connection import Connection, tls_context
from onewrite_cli.doctor.route import Route
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["protocols_of"]


def protocols_of(route: Route, ca_file: Path | None, timeout_s: float) -> list[str]:
    """By a handshake that offers both, and one that offers HTTP/1.1 alone. Raises CouldNotRun when there is no TLS."""
    connection = Connection(route, ONE, tls_context(ca_file, ["h2", "http/1.1"]), timeout_s)
    chosen = connection.protocol
    connection.close()
    if chosen != "h2":
        return ["http/1.1"]
    try:
        connection = Connection(route, ONE, tls_context(ca_file, ["http/1.1"]), timeout_s)
    except CouldNotRun:  # no_application_protocol (RFC 7301, 3.2)
        return ["h2"]
    chosen = connection.protocol
    connection.close()
    return ["h2", "http/1.1"] if chosen == "http/1.1" else ["h2"]
