"""The HTTP traffic of a command, as observed."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Seen", "SeenConnection", "SeenRequest"]


@dataclass
class SeenConnection:
    """One TCP connection that carried requests."""

    peer: str
    nodelay: bool | None = None  # None: could not be read
    nodelay_changed: bool = False
    http2_offered: bool = False


@dataclass
class SeenRequest:
    """One request. `segments` and `records` are None where they could not be counted."""

    connection: SeenConnection
    nth: int
    method: str  # "" inside a tunnel that is not decrypted
    target: str
    head_bytes: int
    body_bytes: int
    segments: int | None
    records: int | None
    gap_ns: int  # the longest silence between two pieces of it
    expects_continue: bool = False
    chunked: bool = False
    user_agent: str = ""

    @property
    def size(self) -> int:
        return self.head_bytes + self.body_bytes


@dataclass
class Seen:
    """All of it, with the longest silences of the controls. `unseen` says, by rule, why something could not be seen."""

    witness: str  # in words, for the report
    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    split_gaps_ns: list[int] = field(default_factory=list)  # the control with Nagle on, in two writes
    single_gaps_ns: list[int] = field(default_factory=list)  # the one that writes once
    fresh_gaps_ns: list[int] = field(default_factory=list)  # as the first, each on a new connection, after each run
    http2: int = 0  # connections that began with the preface of HTTP/2
    tunnels: int = 0  # that were not decrypted
    resent_segments: int = 0  # by the host's counters: the excuse for an odd count
    unseen: dict[str, str] = field(default_factory=dict)
    unreachable: list[str] = field(default_factory=list)  # by the proxy: host, port, reason
    notes: list[str] = field(default_factory=list)
