"""Reduces a play to what is compared, and compares plays of the adapter with those of stock (03-same.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample

__all__ = ["FACETS", "Play", "comparable_bytes", "differences", "given_up", "summary_of"]

SLACK_MS = 250  # between the times that two calls took
JOINED = 16384  # no_more_segments: of larger requests the kernel decides how many there are
STALL_NS = 30_000_000
ABSENT = "absent"
NUMBER = re.compile(r"0x[0-9a-f]+|[0-9A-F]{6,}|\d+")  # of a port, an object, a thread
Facet = dict[str, Any]  # what is compared, by name


def _equal(ours: Any, stock: Any) -> bool:
    return bool(ours == stock)


def _near(ours: Any, stock: Any) -> bool:
    return ours is None or stock is None or abs(ours - stock) <= SLACK_MS


def _at_most(ours: Any, stock: Any) -> bool:
    return ours is None or stock is None or ours <= stock


#: What can be compared, and how (CASES.md). `broken` goes with `bytes`, `message` with `outcome`.
FACETS: dict[str, Callable[[Any, Any], bool]] = {
    "bytes": _equal,
    "outcome": _equal,
    "message": _equal,
    "connections": _equal,
    "took": _near,
    "closed": _equal,
    "segments": _equal,
    "nodelay": _equal,
    "broken": _at_most,
    "no_more_segments": _at_most,
}


@dataclass
class Play:
    """What one play showed."""

    facets: dict[str, Facet]
    requests: dict[str, str] = field(default_factory=dict)  # by the names in the facets, in words
    hooks: bool = False


# -- one play ----------------------------------------------------------------------------------------------


def summary_of(seen: Observation, chance: Sequence[str] = (), *, hooks: bool = False) -> Play:
    """The facets of one play. `chance` is what the case leaves out.

    `boundary`: multipart boundaries are random. `given_up`: behind a call that was given up nothing counts (SAME-7).
    """
    play = Play({name: {} for name in FACETS}, hooks=hooks)
    found = play.facets
    until = next((at for at, one in enumerate(seen.samples) if given_up(one)), None) if "given_up" in chance else None
    whole = [one for one in seen.exchanges if one.complete or _early(one)]
    broken = len(seen.exchanges) - len(whole)
    arrivals = seen.arrivals
    if until is not None:
        before = {exchange.number for sample in seen.samples[:until] for exchange in sample.exchanges}
        whole, broken = [one for one in whole if one.number in before], 0
        arrivals = [arrival for arrival in arrivals if any(one.arrival is arrival for one in whole)]
    tunnels = [arrival.tunnel for arrival in arrivals if arrival.tunnel]
    for at, tunnel in enumerate(tunnels):
        found["bytes"][f"CONNECT {at}"] = _without_ports(tunnel)
    for at, exchange in enumerate(whole):
        found["bytes"][f"message {at}"] = comparable_bytes(exchange, "boundary" in chance)
        small = len(exchange.request.wire) <= JOINED and not _early(exchange) and not _stalled(exchange)
        # Nagle's algorithm joins what waits for any ACK, also one that comes at once.
        counts = small and exchange.arrival.nodelay is not False
        found["no_more_segments"][f"message {at}"] = exchange.segments_once if counts else None
        play.requests[f"message {at}"] = _in_words_of(exchange, seen.samples)
    for at, sample in enumerate(seen.samples[: None if until is None else until + 1]):
        name = f"request {at}"
        play.requests[name] = _in_words(sample.request)
        found["outcome"] |= {f"{name}, {what}": value for what, value in _outcome(sample).items()}
        found["message"][name] = NUMBER.sub("N", str((sample.reply.get("error") or {}).get("message")))
        late = sample.reply["outcome"] != "response"
        found["took"][name] = (sample.reply.get("elapsed_us") or 0) / 1000 if late else None
    if until is None:
        found["connections"] = _connections(seen, whole)
    if any(sample.batch for sample in seen.samples):  # in any order, on any connection
        for facet in ("bytes", "outcome", "message"):
            found[facet] = _in_no_order(found[facet])
        found["no_more_segments"] = {}
    found["broken"]["requests that broke off"] = broken
    found["closed"]["after close"] = seen.left_open
    found["segments"]["usually"] = _usual([one.segments_once for one in seen.counted_exchanges()])
    nodelay = {one.nodelay for one in seen.arrivals if one.nodelay is not None}
    found["nodelay"]["TCP_NODELAY"] = " and ".join(sorted("on" if one else "off" for one in nodelay))
    return play


def _connections(seen: Observation, whole: list[Exchange]) -> Facet:
    """Which message came on which connection, in the order of their use, and which connections had ended."""
    numbers: dict[int, int] = {}
    used = {f"message {at}": numbers.setdefault(one.arrival.index, len(numbers)) for at, one in enumerate(whole)}
    ends = ["ended" if one.index in seen.ended_before_close else "open" for one in seen.arrivals]
    if any(sample.batch for sample in seen.samples):
        return {"used": len(numbers)} | {f"one of them, {at}": end for at, end in enumerate(sorted(ends))}
    named: Facet = {name: f"connection {number}" for name, number in used.items()}
    return named | {f"connection {at} before close": end for at, end in enumerate(ends)}


def _in_no_order(facet: Facet) -> Facet:
    values = sorted((f"{name.partition(', ')[2]} {value!r}" for name, value in facet.items()), key=str)
    return {f"one of the batch, {at}": value for at, value in enumerate(values)}


def _outcome(sample: Sample) -> Facet:
    reply = sample.reply
    if reply["outcome"] == "error":
        return {"outcome": f"error {reply['error'].get('type')}"}
    if reply["outcome"] != "response":
        return {"outcome": str(reply["outcome"])}
    fields = "\n".join(
        f"{name}: {_without_ports(str(value).encode()).decode()}" for name, value in reply.get("headers") or ()
    )
    found: Facet = {"outcome": "response", "status": reply.get("status"), "header fields": fields}
    if sample.request.get("read") != "none":
        found["body"] = f"{reply.get('body_bytes')} bytes, sha256 {reply.get('body_sha256')}"
    return found


def given_up(sample: Sample) -> bool:
    """Whether the call was cancelled or ran out of its time."""
    limit_ms = sample.request.get("timeout_ms")
    late = limit_ms is not None and (sample.reply.get("elapsed_us") or 0) >= limit_ms * 900
    return bool(sample.reply["outcome"] == "cancelled" or (sample.reply["outcome"] == "error" and late))


def _in_words(request: dict[str, Any]) -> str:
    """A request of the script in one line."""
    rest = [f"{name} {request[name]}" for name in ("timeout_ms", "cancel_after_ms", "read") if name in request]
    body = {name: value for name, value in (request.get("body") or {}).items() if name != "kind"}
    kind = (request.get("body") or {}).get("kind", "none")
    parts = [
        f"{request.get('method')} {request.get('url')}",
        *(f"{one[0]}: {one[1]}" for one in request.get("headers", ())),
    ]
    parts += [f"body {kind}" + (f" {body}" if body else ""), *rest]
    text = "; ".join(parts)
    return repr(text if len(text) <= 400 else f"{text[:400]}…")[1:-1]


def _in_words_of(exchange: Exchange, samples: list[Sample]) -> str:
    return next((_in_words(one.request) for one in samples if exchange in one.exchanges and not one.batch), "")


def _early(exchange: Exchange) -> bool:
    """Whether it was answered before all of it was due: then the rest may have come or not."""
    return exchange.answer is not None and exchange.answer.when != "complete" and bool(exchange.request.head)


def _stalled(exchange: Exchange) -> bool:
    """Whether its bytes came with a pause, as Nagle's algorithm makes one: what it holds it also joins."""
    times = [at for at, _ in exchange.reads]
    return any(later - earlier > STALL_NS for earlier, later in pairwise(times))


def comparable_bytes(exchange: Exchange, boundary: bool = False) -> bytes:
    """The bytes of a request, with the judge's ports and, with `boundary`, multipart boundaries left out.

    Behind an early answer a body may be there or not.
    """
    request = exchange.request
    if _early(exchange):
        return _without_ports(request.head)
    wire = request.wire
    for value in request.values("content-type") if boundary else ():
        match = re.search(r'boundary="?([^";]+)', value)
        if match:
            chance = match.group(1).encode()
            wire = _sized_without(chance, exchange).replace(chance, b"BOUNDARY")
    return _without_ports(wire)


def _without_ports(data: bytes) -> bytes:
    return re.sub(rb"(127\.0\.0\.1|localhost):\d+", rb"\1:PORT", data)


def _sized_without(boundary: bytes, exchange: Exchange) -> bytes:
    """The bytes of a request whose sizes leave the boundaries out."""
    request = exchange.request
    head, _, body = request.wire.partition(b"\r\n\r\n")
    if request.framing == "length":
        boundaries = body.count(boundary) * len(boundary)
        head = re.sub(
            rb"(?i)(content-length: *)(\d+)", lambda line: line[1] + b"%d" % (int(line[2]) - boundaries), head
        )
        return head + b"\r\n\r\n" + body
    parts, at = [], 0
    for size in request.chunks:
        start = body.index(b"\r\n", at) + 2
        data = body[start : start + size]
        parts.append(b"%x\r\n%b\r\n" % (size - data.count(boundary) * len(boundary), data))
        at = start + size + 2
    return head + b"\r\n\r\n" + b"".join(parts) + body[at:]


def _usual(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return Counter(known).most_common(1)[0][0] if known else None


# -- two sets of plays ----------------------------------------------------------------------------------------


def differences(ours: list[Play], stock: list[Play], facets: Iterable[str], name: str = "adapter") -> list[str]:
    """The facets in which a play of the adapter equals no play of stock, side by side; of each the first part."""
    wanted = [*facets]
    wanted += ["broken"] if "bytes" in wanted else []
    found = []
    for facet in wanted:
        differ = [one for one in ours if not any(_same(facet, one, other) for other in stock)]
        if differ:
            found.append(_side_by_side(facet, differ[0], stock, name))
    return found


def _same(facet: str, one: Play, other: Play) -> bool:
    mine, theirs = one.facets[facet], other.facets[facet]
    if FACETS[facet] is _equal:
        return mine == theirs
    return all(FACETS[facet](mine[name], theirs[name]) for name in mine.keys() & theirs.keys())


def _part(facet: str, one: Play, stock: list[Play]) -> str:
    """The name of the first part that no play of stock has like this, or else that the first one has not."""
    names = dict.fromkeys(name for play in (one, *stock) for name in play.facets[facet])

    def alike(name: str, other: Play) -> bool:
        mine, theirs = one.facets[facet].get(name, ABSENT), other.facets[facet].get(name, ABSENT)
        return bool(mine == theirs) if ABSENT in (mine, theirs) else FACETS[facet](mine, theirs)

    alone = (name for name in names if not any(alike(name, other) for other in stock))
    return next(alone, None) or next(name for name in names if not alike(name, stock[0]))


def _side_by_side(facet: str, one: Play, stock: list[Play], name: str) -> str:
    """The part that is another one than with stock, every value that stock showed, and the request."""
    part = _part(facet, one, stock)
    mine, *theirs = (play.facets[facet].get(part, ABSENT) for play in (one, *stock))
    start = 0
    if isinstance(mine, (str, bytes)) and type(mine) is type(theirs[0]):
        pairs = zip(mine, theirs[0], strict=False)
        start = max(0, next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(mine), len(theirs[0]))) - 40)
    lines = [("stock", text) for text in dict.fromkeys(_text(value, start) for value in theirs)]
    lines += [(name, _text(mine, start)), ("request", one.requests.get(part.partition(", ")[0], "–"))]
    width = max(len(name), len("request"))
    from_byte = f", from byte {start}" if start else ""
    head = f"{facet}: {part}, {'with' if one.hooks else 'without'} hooks{from_byte}"
    return "\n".join([head, *(f"{who:<{width}}  {text}" for who, text in lines)])


def _text(value: Any, start: int) -> str:
    """A value, from its `start` on where it is a text."""
    if isinstance(value, (str, bytes)):
        return repr(value[start : start + 120])
    return str(round(value, 1) if isinstance(value, float) else value)
