"""The tap's records: one per connection, one per request."""

from __future__ import annotations

from dataclasses import dataclass, field

from onewrite_lab.tap.answers import Answer
from onewrite_lab.tap.http1 import Request

__all__ = ["Arrival", "Exchange"]


@dataclass
class Arrival:
    """One accepted connection."""

    index: int
    peer_port: int
    local_port: int
    via: str  # direct, forward, connect
    exchanges: int = 0
    nodelay: bool | None = None  # at its first request
    retransmits: int = 0  # of the client, when it was last looked at
    nodelay_at_hello: bool | None = None  # when the first bytes of its TLS handshake had come
    client_options: dict[str, int] = field(default_factory=dict)  # socket options of the client's end
    tunnel: bytes = b""  # the request that asked for it
    tls_version: str | None = None
    failure: str | None = None  # a broken handshake or a broken read, in words; the command line tool reports it
    ended: bool = False


@dataclass
class Exchange:
    """One request and its answer. Times are CLOCK_MONOTONIC nanoseconds."""

    number: int
    arrival: Arrival
    nth_on_connection: int
    via: str
    request: Request = field(default_factory=Request)
    complete: bool = False
    segments: int | None = None
    sent_twice: int = 0  # segments that the client has sent again since its connection was last looked at
    records: int | None = None
    first_record_bytes: int | None = None
    first_piece: bytes = b""
    first_ns: int = 0
    complete_ns: int = 0
    answer_ns: int = 0  # before the first byte of the final answer
    last_write_ns: int = 0  # before the last write of the answer
    answered_ns: int = 0  # after it
    answer: Answer | None = None
    followed: bool = False  # what follows the answer (`Answer.then`) is done
    extra: int = 0  # bytes that followed the request before it was answered
    reads: list[tuple[int, int]] = field(default_factory=list)  # (t_ns, size) of each piece

    @property
    def segments_once(self) -> int | None:
        """The count without the segments that the client has sent again."""
        return None if self.segments is None else self.segments - self.sent_twice
