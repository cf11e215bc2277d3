"""The rules: what each finding is called, what it means, what decides, and what cures it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PER_LIBRARY", "RULES", "Rule", "rule_named"]

PER_LIBRARY = "https://github.com/onewrite/onewrite/blob/main/docs/cures.md"


@dataclass(frozen=True)
class Rule:
    """`means`, `why` and `decides` are sentences for `explain`; `cure` and `good` are parts of a report's lines."""

    id: str
    name: str
    title: str
    good: str
    means: str
    why: str
    decides: str
    cure: str
    seen_by: str

    @property
    def is_stall(self) -> bool:
        return self.id.endswith("05")


_COUNTS = (
    "Found when the most frequent count is above 1, or when more than a tenth of the {0}s need more than one. "
    "Segments that the kernel sent again excuse up to a fifth."
)
_STALLS = (
    "A {0} is late when its sender's kernel held it, by Nagle's algorithm or a cork, for more than half of what the control lost "
    "that splits with Nagle on. That control must stall in the same run, and one that writes once must not; else the rule is "
    "inconclusive. Found when more than 5 % of the {0}s with a body are late; one late {0} of fewer than 20 is inconclusive."
)

RULES = (
    Rule(
        "OW101",
        "split-write",
        "the request leaves in more than one write",
        "each request leaves in one write",
        "Head and body of a request that would fit into one TCP segment were sent in two or more.",
        "With Nagle's algorithm on, the second piece waits until the first is acknowledged: one round trip, and 40 ms "
        "(Linux) to 200 ms more when the receiver delays its ACK. With TCP_NODELAY it costs a segment, a system call "
        "and a wake-up of the receiver. A relay on the way may hold the second piece even if the client does not.",
        _COUNTS.format("request") + " Requests without a body count only where their head is split.",
        "hand head and body to the socket in one write",
        "the server's TCP_INFO: data segments per request",
    ),
    Rule(
        "OW102",
        "nodelay",
        "TCP_NODELAY is off",
        "TCP_NODELAY is on",
        "The client's socket has Nagle's algorithm on.",
        "It does no harm while every request leaves in one write. The first split write, of a larger body or a new "
        "library version, then waits for an ACK. Most libraries set TCP_NODELAY; a proxy setting, a custom connector or "
        "a custom list of socket options loses it without a message.",
        "Found when one connection or more has it off when the first request has come. A client that has it on for its writes "
        "alone shows that by its pieces, which do not wait; with one write it is taken for off. Skipped when most connections "
        "could not be read.",
        "set TCP_NODELAY on every connection of the client",
        "the client's socket, duplicated with pidfd_getfd(2)",
    ),
    Rule(
        "OW103",
        "tls-records",
        "the request leaves in more than one TLS record",
        "each request leaves in one TLS record",
        "Head and body of a request that would fit into one TLS record were encrypted apart.",
        "Each record has a header, a tag and a decryption. With TCP_NODELAY on, a record per write is a segment per write.",
        _COUNTS.format("request"),
        "give head and body to the TLS layer in one write",
        "the server, which cuts the stream into records",
    ),
    Rule(
        "OW105",
        "stall",
        "requests stall between their pieces",
        "no stall",
        "The rest of a request arrived as late as that of a client which waits for a delayed ACK.",
        "A second write was held by Nagle's algorithm until the delayed ACK came. In a new TLS 1.3 connection the first "
        "write can be the client's Finished: the request then waits behind it.",
        _STALLS.format("request") + " A pause of the client itself is no stall. The server of the tool delays its ACKs from the "
        "first request on, as HAProxy does. Most servers acknowledge new connections at once, and a client that makes one "
        "request per connection does not stall there.",
        "one write per request, or TCP_NODELAY: each alone ends the stall at the first hop",
        "the client's send queue (NETLINK_SOCK_DIAG), beside the two controls",
    ),
    Rule(
        "OW201",
        "answer-split",
        "the answer leaves in more than one write",
        "each answer leaves in one write",
        "Head and body of an answer that would fit into one TCP segment were sent in two or more.",
        "With Nagle's algorithm on, the rest waits until the client acknowledges the beginning, which a client delays by "
        "40 ms (Linux) to 200 ms. With TCP_NODELAY it costs a segment, a system call and a wake-up of the client.",
        _COUNTS.format("answer"),
        "buffer head and body of a small answer and write them at once; or put a proxy before it that does",
        "the client of the tool: data segments per answer (TCP_INFO)",
    ),
    Rule(
        "OW202",
        "accepted-nodelay",
        "TCP_NODELAY is off on accepted connections",
        "TCP_NODELAY is on for accepted connections",
        "The server's sockets have Nagle's algorithm on.",
        "It does no harm while every answer leaves in one write. Streams, large answers and event streams do not. Workers "
        "that get their sockets from a parent process, and sockets made from a descriptor, lose the option without a message.",
        "Found when one accepted connection or more has it off. Skipped when fewer than half of them could be read.",
        "set TCP_NODELAY on the listening socket before it accepts (Linux: accepted ones inherit it), in every worker",
        "the accepted sockets of the server and its workers, duplicated with pidfd_getfd(2)",
    ),
    Rule(
        "OW205",
        "answer-stall",
        "answers stall between their pieces",
        "no stall",
        "The rest of an answer came as late as that of a server which waits for a delayed ACK.",
        "A second write was held by Nagle's algorithm until the client's delayed ACK came.",
        _STALLS.format("answer") + " A pause of the server itself is no stall.",
        "TCP_NODELAY on accepted connections, or one write per answer: each alone ends the stall",
        "the server's send queue (NETLINK_SOCK_DIAG), beside the two controls",
    ),
)


def rule_named(text: str) -> Rule:
    """The rule with this id or name, whatever its case. Raises KeyError."""
    wanted = text.strip().lower()
    for rule in RULES:
        if wanted in (rule.id.lower(), rule.name):
            return rule
    raise KeyError(text)
