"""A throw-away certificate authority and a server certificate for localhost, made per run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["Pair", "make"]


@dataclass(frozen=True)
class Pair:
    """Two PEM files: the authority to trust, and the server's certificate with its key."""

    authority: Path
    server: Path


def make(directory: Path) -> Pair:
    """Write both files into `directory`. Valid for localhost and 127.0.0.1."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA(organization_name="onewrite bench")
    pair = Pair(directory / "authority.pem", directory / "server.pem")
    authority.cert_pem.write_to_path(str(pair.authority))
    server = authority.issue_cert("localhost", "127.0.0.1", common_name="localhost")
    server.private_key_and_cert_chain_pem.write_to_path(str(pair.server))
    return pair
