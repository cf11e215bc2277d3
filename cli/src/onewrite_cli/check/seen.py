"""What was seen of a command's HTTP traffic, whichever witness saw it."""

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
    requests: int = 0
    http2_offered: bool = False
    fault: str | None = None


@dataclass
class SeenRequest:
    """One request. `pieces` are data segments at the server, or system calls in strace; None: not counted."""

    connection: SeenConnection
    nth: int
    method: str  # "" inside an unopened tunnel
    target: str
    head_bytes: int
    body_bytes: int
    pieces: int | None
    records: int | None
    gap_ns: int | None  # the longest silence between two pieces of it
    first_ns: int
    last_ns: int  # when it was complete
    answered_ns: int | None  # None: never, or not seen
    digest: str | None = None  # of method, target, body
    expects_continue: bool = False
    chunked: bool = False

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
    pieces_are: str  # "segments" or "writes"
    runs: int = 0
    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    control: StallControl | None = None
    resent_segments: int = 0  # by the host's counters: the excuse for an odd count
    unseen: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
