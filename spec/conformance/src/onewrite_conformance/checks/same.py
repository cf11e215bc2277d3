"""Reduces a play to what is compared, and compares plays of the adapter with those of stock (03-same.md)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample

__all__ = ["FACETS", "Shown", "differences", "even", "given_up", "shown"]

#: What can be compared; CASES.md explains each. `broken` goes with `bytes`.
FACETS = ("bytes", "outcome", "message", "connections", "objects", "took", "closed", "segments", "nodelay", "broken")

SLACK_MS = 250  # between the times that two calls took
NUMBER = re.compile(r"0x[0-9a-f]+|[0-9A-F]{6,}|\d+")  # of a port, an object, a thread
Shown = dict[str, list[Any]]  # by facet


# -- one play ----------------------------------------------------------------------------------------------


def shown(seen: Observation, boundary: bool = False) -> Shown:
    """The facets of one play. `boundary`: multipart boundaries are random and left out.

    Where an empty chunk ended a request, its rest is read as a request astray, whose answer closes the connection under
    the next call. How far that call reads its body depends on how many bytes leave in its first write.
    """
    found: Shown = {name: [] for name in FACETS}
    batch = any(sample.batch for sample in seen.samples)
    numbers: dict[int, int] = {}  # of connections, in the order of their use
    whole = [one for one in seen.exchanges if one.complete or _early(one)]
    tunnels = [_place(arrival.tunnel) for arrival in seen.arrivals if arrival.tunnel]
    found["bytes"] = [*tunnels, *(even(exchange, boundary) for exchange in whole)]
    found["connections"] = [numbers.setdefault(one.arrival.index, len(numbers)) for one in whole]
    astray = any(one.request.head.partition(b"\r\n")[0].count(b" ") < 2 for one in whole)
    for sample in seen.samples:
        found["outcome"].append(_outcome(sample))
        found["message"].append(NUMBER.sub("N", str((sample.reply.get("error") or {}).get("message"))))
        objects = dict(sample.reply.get("objects") or {})
        if astray:
            objects.pop("body_position", None)
        found["objects"].append(json.dumps(objects, sort_keys=True))
        late = sample.reply["outcome"] != "response"
        found["took"].append((sample.reply.get("elapsed_us") or 0) / 1000 if late else None)
    if batch:  # in any order, on any connection
        found = {name: sorted(values, key=str) for name, values in found.items()}
        found["connections"] = [f"{len(numbers)} connections"]
    ends = ["ended" if one.index in seen.ended_before_close else "open" for one in seen.arrivals]
    found["connections"] += sorted(ends) if batch else ends
    found["broken"] = [len(seen.exchanges) - len(whole)]
    found["closed"] = [seen.left_open]
    found["segments"] = [_usual([one.segments_once for one in seen.counted_exchanges()])]
    found["nodelay"] = sorted({one.nodelay for one in seen.arrivals if one.nodelay is not None})
    return found


def _outcome(sample: Sample) -> str:
    reply = sample.reply
    if reply["outcome"] == "error":
        return f"error {reply['error'].get('type')}"
    if reply["outcome"] != "response":
        return str(reply["outcome"])
    fields = "".join(f"\n{name}: {_place(str(value).encode()).decode()}" for name, value in reply.get("headers") or ())
    body = "" if sample.request.get("read") == "none" else f"\n{reply.get('body_bytes')} {reply.get('body_sha256')}"
    return f"response {reply.get('status')}{fields}{body}"


def given_up(sample: Sample) -> bool:
    """Whether the call was cancelled or ran out of its time."""
    limit_ms = sample.request.get("timeout_ms")
    late = limit_ms is not None and (sample.reply.get("elapsed_us") or 0) >= limit_ms * 900
    return bool(sample.reply["outcome"] == "cancelled" or (sample.reply["outcome"] == "error" and late))


def _early(exchange: Exchange) -> bool:
    """Whether it was answered before all of it was due: then the rest may have come or not."""
    return exchange.answer is not None and exchange.answer.when != "complete" and bool(exchange.request.head)


def even(exchange: Exchange, boundary: bool = False) -> bytes:
    """The bytes of a request, with the judge's ports and, with `boundary`, multipart boundaries evened out.

    Behind an early answer a body may be there or not.
    """
    request = exchange.request
    if _early(exchange):
        return _place(request.head)
    wire = request.wire
    for value in request.values("content-type") if boundary else ():
        match = re.search(r'boundary="?([^";]+)', value)
        if match:
            chance = match.group(1).encode()
            wire = _sized_without(chance, exchange).replace(chance, b"BOUNDARY")
    return _place(wire)


def _place(data: bytes) -> bytes:
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


def differences(ours: list[Shown], stock: list[Shown], facets: list[str], name: str = "adapter") -> list[str]:
    """The facets in which a play of the adapter equals no play of stock, side by side; of each the first step."""
    found = []
    for facet in facets:
        for play in ours:
            if not any(_same(facet, play[facet], other[facet]) for other in stock):
                found.append(_side_by_side(facet, play[facet], stock[0][facet], name))
                break
    more, most = (max((play["broken"] or [0])[0] for play in plays) for plays in (ours, stock))
    if "bytes" in facets and more > most:
        found.append(f"bytes: {more} requests broke off, with stock {most}")
    return found


def _same(facet: str, one: list[Any], other: list[Any]) -> bool:
    if facet != "took":
        return one == other
    pairs = zip(one, other, strict=False)
    return all(a is None or b is None or abs(a - b) <= SLACK_MS for a, b in pairs)


def _side_by_side(facet: str, ours: list[Any], stock: list[Any], name: str) -> str:
    pairs = zip(ours, stock, strict=False)
    step = next((at for at, (a, b) in enumerate(pairs) if not _same(facet, [a], [b])), min(len(ours), len(stock)))
    one, other = (values[step] if step < len(values) else b"" for values in (ours, stock))
    where = f"{facet}, number {step}"
    if len(ours) != len(stock):
        where += f" ({len(ours)}, with stock {len(stock)})"
    if isinstance(one, (str, bytes)) and isinstance(other, (str, bytes)):
        first = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        first = min(len(one), len(other)) if first is None else first
        start = max(0, first - 40)
        shown_one, shown_other = repr(one[start : first + 60]), repr(other[start : first + 60])
        mark = next((at for at, (a, b) in enumerate(zip(shown_one, shown_other, strict=False)) if a != b), 0)
        width = max(len(name), len("stock"))
        return (
            f"{where}, from byte {first}:\n{'stock':<{width}}  {shown_other}\n{name:<{width}}  {shown_one}\n"
            f"{'':<{width}}  {'':<{mark}}^"
        )
    return f"{where}: {one!r}, with stock {other!r}"
