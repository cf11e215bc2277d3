"""The HTTP traffic of a command, as observed."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Seen", "SeenConnection", "SeenRequest", "StallControl"]


@dataclass
class SeenConnection:
    """One TCP connection that carried requests."""

    run: int
    index: int
    peer: str
    tls: bool = False
    nodelay: bool | None = None  # None: could not be read
    nodelay_changed: bool = False
    accepted_ns: int = 0
    requests: int = 0
    http2_offered: bool = False
    fault: str | None = None


@dataclass
class SeenRequest:
    """One request. `segments` and `records` are None where they could not be counted."""

    connection: SeenConnection
    nth: int
    method: str  # "" inside an unopened tunnel
    target: str
    head_bytes: int
    body_bytes: int
    segments: int | None
    records: int | None
    gap_ns: int | None  # the longest silence between two pieces of it
    first_ns: int
    answer_ns: int | None  # when its answer began; None: never, or not seen
    expects_continue: bool = False
    chunked: bool = False
    user_agent: str = ""

    @property
    def size(self) -> int:
        return self.head_bytes + self.body_bytes


@dataclass
class StallControl:
    """What the tool's own clients met in the same run: the longest silence within each of their requests."""

    split_gaps_ns: list[int] = field(default_factory=list)  # Nagle on, two writes
    single_gaps_ns: list[int] = field(default_factory=list)  # one write
    fresh_gaps_ns: list[int] = field(default_factory=list)  # split, each on a new connection, after each run


@dataclass
class Seen:
    """All of it. `unseen` says, by rule, why something could not be looked at."""

    witness: str  # in words, for the report
    runs: int = 0
    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    control: StallControl | None = None
    http2: int = 0  # connections that began with the preface of HTTP/2
    resent_segments: int = 0  # by the host's counters: the excuse for an odd count
    unseen: dict[str, str] = field(default_factory=dict)
    unreachable: list[str] = field(default_factory=list)  # by the proxy: host, port, reason
    notes: list[str] = field(default_factory=list)
