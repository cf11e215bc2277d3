"""Which HTTP versions a TLS server speaks, by ALPN (RFC 7301)."""

from __future__ import annotations

from pathlib import Path

from onewrite_cli.doctor.arms import ONE
from onewrite_cli.doctor.connection import Connection, tls_context
from onewrite_cli.doctor.route import Route

__all__ = ["protocols_of"]


def protocols_of(route: Route, ca_file: Path | None, timeout_s: float) -> list[str]:
    """One handshake that offers both. Raises CouldNotRun when there is no TLS to be had."""
    connection = Connection(route, ONE, tls_context(ca_file, ["h2", "http/1.1"]), timeout_s)
    chosen = connection.protocol
    connection.close()
    return ["h2", "http/1.1"] if chosen == "h2" else ["http/1.1"]
