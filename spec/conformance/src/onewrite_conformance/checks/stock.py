"""Comparison with the same run of the stock client."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.verdict import Problem, Verdict

__all__ = ["even", "judge_against_stock"]


def judge_against_stock(seen: Observation, stock: Observation | None, verdict: Verdict) -> None:
    expect = seen.run.expect()
    wanted = [*expect.get("stock_equal", ()), *(f"not_worse_{name}" for name in expect.get("stock_not_worse", ()))]
    if not wanted or seen.run.client == "stock":
        return
    if "own_client" in seen.capabilities:
        verdict.apart.append("a client of its own: the base library has no client API to be equal to")
        return
    if stock is None:
        verdict.doubts.append("no stock run to compare with")
        return
    views: dict[str, Callable[[Observation], Any]] = {
        "outcome": lambda one: [_of(sample, sample.reply["outcome"]) for sample in one.counted],
        "status": lambda one: [_of(sample, sample.reply.get("status")) for sample in one.counted],
        "body": lambda one: [_of(sample, sample.reply.get("body_sha256")) for sample in one.counted],
        "answer_headers": lambda one: [_of(sample, _headers(sample)) for sample in one.counted],
        "error_type": lambda one: [(sample.reply.get("error") or {}).get("type") for sample in one.counted],
        "bytes": lambda one: [even(exchange) for exchange in one.exchanges if exchange.complete],
        "requests": lambda one: len(one.exchanges),
        "connections": lambda one: len(one.arrivals),
        "segments": lambda one: _usual([exchange.segments_once for exchange in one.counted_exchanges()]),
        "nodelay": lambda one: sorted({arrival.nodelay for arrival in one.arrivals if arrival.nodelay is not None}),
    }
    for name in wanted:
        if name.startswith("not_worse_"):
            ours, theirs = views["segments"](seen), views["segments"](stock)
            if ours is not None and theirs is not None and ours > theirs:
                verdict.problems.append(Problem(f"{ours} segments, stock needs {theirs}", "stock_not_worse"))
            continue
        ours, theirs = views[name](seen), views[name](stock)
        if ours != theirs:
            text = f"{name} differs from stock: {_difference(ours, theirs)}"
            verdict.problems.append(Problem(text, f"stock_equal.{name}"))


def _of(sample: Sample, value: Any) -> str:
    """A value with the request that it came of."""
    return f"{sample.request['method']} {urlsplit(sample.request['url']).path}: {value}"


def _headers(sample: Sample) -> list[tuple[str, str]]:
    """Header fields as the caller got them, in no order and with names in small letters."""
    return sorted((str(name).lower(), str(value)) for name, value in sample.reply.get("headers") or ())


def even(exchange: Exchange) -> bytes:
    """The bytes of a request with what differs by chance evened out: ports, and multipart boundaries, which may vary in
    length, with the sizes that count them."""
    wire = exchange.request.wire
    for value in exchange.request.values("content-type"):
        match = re.search(r'boundary="?([^";]+)', value)
        if match:
            boundary = match.group(1).encode()
            wire = _sized_without(boundary, exchange).replace(boundary, b"BOUNDARY")
    return re.sub(rb"(127\.0\.0\.1|localhost):\d+", rb"\1:PORT", wire)


def _sized_without(boundary: bytes, exchange: Exchange) -> bytes:
    """The bytes of a request whose sizes leave the boundaries out."""
    request = exchange.request
    if not exchange.complete:
        return request.wire
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


def _difference(ours: Any, theirs: Any) -> str:
    if isinstance(ours, list) and isinstance(theirs, list):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return f"[{index}] {_around(one, other)}"
        return f"{len(ours)} against {len(theirs)}"
    return f"{ours!r} against {theirs!r}"


def _around(one: Any, other: Any) -> str:
    if isinstance(one, bytes) and isinstance(other, bytes):
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        start = max(0, at - 30)
        return f"at byte {at}: {one[start : at + 50]!r} against {other[start : at + 50]!r}"
    return f"{one!r} against {other!r}"
