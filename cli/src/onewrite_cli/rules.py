"""The rules: what each finding is called, what it means, and what cures it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RULES", "Rule", "rule_named"]


@dataclass(frozen=True)
class Rule:
    """`means` and `why` are sentences for `explain`; `cure` is one line, shown with each finding."""

    id: str
    name: str
    title: str
    means: str
    why: str
    cure: str
    seen_by: str


RULES = (
    Rule(
        "OW101",
        "split-write",
        "the request leaves in more than one write",
        "Head and body of a request that would fit into one TCP segment were sent in two or more.",
        "With Nagle's algorithm on, the second piece waits until the first is acknowledged: one round trip, and 40 ms "
        "(Linux) to 200 ms more when the receiver delays its ACK. With TCP_NODELAY it costs a segment, a system call "
        "and a wake-up of the receiver. A relay on the way may hold the second piece even if the client does not.",
        "hand head and body to the socket in one write: onewrite does it for urllib3, Net::HTTP, undici and Netty",
        "the server's TCP_INFO: data segments per request",
    ),
    Rule(
        "OW102",
        "nodelay",
        "TCP_NODELAY is off",
        "The client's socket has Nagle's algorithm on.",
        "It does no harm while every request leaves in one write. The first split write, of a larger body or a new "
        "library version, then waits for an ACK. Most libraries set TCP_NODELAY; a proxy setting, an own connector or "
        "an own list of socket options loses it silently.",
        "set TCP_NODELAY on every connection of the client (onewrite does and reads it back)",
        "the client's own socket, duplicated with pidfd_getfd(2); again after a gap within a request",
    ),
    Rule(
        "OW103",
        "tls-records",
        "the request leaves in more than one TLS record",
        "Head and body of a request that would fit into one TLS record were encrypted apart.",
        "Each record has its own header, tag and decryption, and a record per write is a segment per write with TCP_NODELAY on.",
        "give head and body to the TLS layer in one write",
        "the server, which cuts the stream into records; inside CONNECT the records' headers, without opening them",
    ),
    Rule(
        "OW104",
        "reuse",
        "connections are not reused",
        "A new connection was opened for one request while another one to the same server was idle.",
        "Every new connection costs a round trip, with TLS two or more, and begins with a small congestion window.",
        "keep one client, session or agent for all requests, and read every response to its end",
        "the server's list of connections and requests",
    ),
    Rule(
        "OW105",
        "stall",
        "requests stall between their pieces",
        "The rest of a request arrived as late after its beginning as that of a client which waits for a delayed ACK.",
        "A second write was held by Nagle's algorithm until the delayed ACK came. Judged against two clients of the "
        "tool's own in the same run: one that splits with Nagle on and must stall, one that writes once and must not.",
        "one write per request, and TCP_NODELAY: each alone ends the stall at the first hop",
        "the server's clock: first piece to last piece of each request, beside the two controls",
    ),
    Rule(
        "OW201",
        "answer-split",
        "the answer leaves in more than one write",
        "Head and body of an answer that would fit into one TCP segment were sent in two or more.",
        "With Nagle's algorithm on, the rest waits until the client acknowledges the beginning, which a client delays by "
        "40 ms (Linux) to 200 ms. With TCP_NODELAY it costs a segment, a system call and a wake-up of the client.",
        "buffer head and body of a small answer and write them at once; or put a proxy before it that does",
        "the tool's own client: data segments per answer (TCP_INFO)",
    ),
    Rule(
        "OW202",
        "accepted-nodelay",
        "TCP_NODELAY is off on accepted connections",
        "The server's sockets have Nagle's algorithm on.",
        "It does no harm while every answer leaves in one write. Streams, large answers and event streams do not. Workers "
        "that get their sockets from a parent process, and sockets made from a descriptor, lose the option silently.",
        "set TCP_NODELAY on the listening socket before it accepts (Linux: accepted ones inherit it), in every worker",
        "the accepted sockets of the server and its workers, duplicated with pidfd_getfd(2)",
    ),
    Rule(
        "OW204",
        "keep-alive",
        "the server closes connections",
        "The connection was closed after each answer, though the client did not want that.",
        "Every new connection costs a round trip, with TLS two or more.",
        "let the server speak HTTP/1.1 with keep-alive",
        "the answer's version and Connection header",
    ),
    Rule(
        "OW205",
        "answer-stall",
        "answers stall between their pieces",
        "The rest of an answer came as late after its beginning as that of a server which waits for a delayed ACK, and at "
        "once when the client acknowledged every segment.",
        "A second write was held by Nagle's algorithm until the client's delayed ACK came. Judged against two servers of the "
        "tool's own in the same run: one that splits with Nagle on and must stall, one that writes once and must not.",
        "TCP_NODELAY on accepted connections, or one write per answer: each alone ends the stall",
        "the tool's own client: first byte to last byte of each answer, beside the two controls",
    ),
)


def rule_named(text: str) -> Rule:
    """The rule with this id or name, whatever its case. Raises KeyError."""
    wanted = text.strip().lower()
    for rule in RULES:
        if wanted in (rule.id.lower(), rule.name):
            return rule
    raise KeyError(text)
